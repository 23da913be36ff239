"""figures.tsv, from which the expected findings were read, is what the releases really make."""

from __future__ import annotations

import csv

import pytest

from attnkern.codegen import store
from attnkern.codegen.artifact import Artifact, Key
from attnkern.codegen.build import profiled
from attnkern.revisions import history
from tests.conftest import RELEASES, CommandLine
from tests.findings.builders import FIGURES

pytestmark = pytest.mark.triton


@pytest.mark.parametrize("release", RELEASES)
def test_the_table_holds_what_the_release_makes(in_compiled: CommandLine, release: str) -> None:
    revision = next(one for one in history.sync(offline=True).revisions if one.name == release)
    with FIGURES.open() as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["release"] == release]
    mine = [row for row in rows if (row["case"], row["target"]) == ("seed", "sm_80")]
    assert len(mine) == 2
    for row in mine:
        key = Key("seed", "direct" if row["formulation"] == "direct" else "transposed", "sm_80")
        outcome = store.load(revision.commit, key)
        if not isinstance(outcome, Artifact):
            assert outcome is not None
            assert row["registers"] == f"{outcome.kind} before {outcome.stage}"
            continue
        sass = profiled(revision, outcome).sass
        made = {
            "registers": outcome.ptxas.registers,
            "stack": outcome.ptxas.stack_bytes,
            "spills": outcome.ptxas.spill_store_bytes + outcome.ptxas.spill_load_bytes,
            "shared": outcome.shared_bytes,
            "conversions": outcome.layout_conversions,
        }
        assert {name: int(row[name]) for name in made} == made
        # Machine code and PTX bear the same digests wherever they are made.
        assert sass.code_sha256.startswith(row["code"])
        assert outcome.files["kernel.ptx"].sha256.startswith(row["ptx"])
