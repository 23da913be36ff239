"""Series for the tests: what all releases made of all cases, from figures.tsv, and what one makes up."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from attnkern.cases import CASES, FORMULATIONS, Formulation
from attnkern.codegen import record
from attnkern.codegen.artifact import Failure, File, Key, Outcome, to_text
from attnkern.codegen.bundle import Bundle, manifest
from attnkern.codegen.ptxas import PtxasReport
from attnkern.codegen.sass import SassFigures
from attnkern.findings.judge import Run, run_of
from attnkern.findings.series import Built, CaseSeries, Figures, Moment, Place
from attnkern.home import CHECKOUT
from attnkern.revisions import history
from tests.codegen import builders

FIGURES = Path(__file__).with_name("figures.tsv")
H200 = CHECKOUT / "results" / "h200"


def moments() -> list[Moment]:
    """The locked releases, in a history of their own (a home must be set)."""
    return [
        Moment(revision.commit, revision.name, revision.release.uploaded.isoformat())
        for revision in history.sync(offline=True).revisions
    ]


def write_results(folder: Path, releases: Sequence[Moment], machine: bool = True) -> Path:
    """A results folder with every compiler's figures and, unless not wanted, the recorded H200."""
    rows: dict[str, list[dict[str, str]]] = {}
    with FIGURES.open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            rows.setdefault(row["release"], []).append(row)
    for moment in releases:
        outcomes = [outcome_of(row) for row in rows.get(moment.release, [])]
        figures = {o.key.name: f for o, f in outcomes if f is not None}
        bundle = Bundle(moment.commit, moment.release, moment.released, tuple(o for o, _ in outcomes), figures, {})
        path = record.profiles_path(folder, moment.commit)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_text(manifest(bundle)))
    if machine:
        shutil.copytree(H200, folder / "h200")
    return folder


def outcome_of(row: dict[str, str]) -> tuple[Outcome, SassFigures | None]:
    key = Key(row["case"], "direct" if row["formulation"] == "direct" else "transposed", row["target"])
    if not row["registers"].isdigit():
        kind, _, stage = row["registers"].partition(" before ")
        return Failure(key, stage, kind, "it failed"), None
    report = PtxasReport(int(row["registers"]), int(row["stack"]), int(row["spills"]), 0, (), "ptxas")
    artifact = builders.artifact(
        shared_bytes=int(row["shared"]), num_warps=CASES[key.case].num_warps, key=key, ptxas=report,
        layout_conversions=int(row["conversions"]), files={"kernel.ptx": File(row["ptx"], 1)},
    )  # fmt: skip
    sass = builders.figures(int(row["loop_loads"]), int(row["loop_stores"]))
    return artifact, replace(sass, code_sha256=row["code"])


FIGURES_OF_A_SEED = Figures(
    registers=255, stack_bytes=1488, spill_bytes=3504, shared_bytes=163840, code_bytes=68992, layout_conversions=4,
    local_bytes_per_launch=5_200_000_000, floor_ms=2.55, floor_level="memory", programs_per_sm=1, occupancy=0.125,
    obstacle=None, code_sha256="", ptx_sha256="", ptxas="ptxas 12.4.99",
)  # fmt: skip
COLLAPSED = replace(FIGURES_OF_A_SEED, registers=32, stack_bytes=16616, spill_bytes=60348, floor_ms=55.07)


def line(count: int) -> list[Moment]:
    return [
        Moment(f"{place:040x}", f"r{place}", f"2026-01-01T00:{place // 60:02}:{place % 60:02}")
        for place in range(count)
    ]


def target(direct: Sequence[Built], transposed: Sequence[Built]) -> CaseSeries:
    return CaseSeries(
        "seed", Place("sm_80", "A100"), {"direct": direct, "transposed": transposed}, flops=CASES["seed"].flops
    )


def machine(
    direct: Sequence[Run | None], transposed: Sequence[Run | None], codes: Sequence[str] | None = None
) -> CaseSeries:
    """A machine's series; `codes` are the machine code's digests, the same for both forms."""
    times: dict[Formulation, Sequence[Run | None]] = {"direct": direct, "transposed": transposed}
    gaps = [Run(d.log - t.log, 0.0) if d and t else None for d, t in zip(direct, transposed, strict=True)]
    built = {form: [replace(FIGURES_OF_A_SEED, code_sha256=code) for code in codes or ()] for form in FORMULATIONS}
    return CaseSeries(
        "seed", Place("a100", "A100", "native"), built if codes else {}, times, gaps, flops=CASES["seed"].flops
    )


def sampled(
    rng: np.random.Generator, means: Sequence[float], noise: float, blocks: int = 10, between: float = 0.0005
) -> list[Run]:
    """Runs whose blocks scatter by `noise`, and which themselves scatter by `between` (both relative)."""
    return [run_of(mean * (1 + rng.normal(0, between) + rng.normal(0, noise, blocks))) for mean in means]
