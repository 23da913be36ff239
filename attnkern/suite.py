"""The asv suite, driven: `asv run` over what is not recorded yet, then `asv publish`.

The compiler's figures are recorded under the machine `compiler`, whose fields are fixed, since they are the same
wherever they are made and every field of an asv machine is a key of its graphs.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from asv import util as asv_util
from asv.results import Results

from attnkern.cases import CASES
from attnkern.codegen import record as profiles
from attnkern.codegen import store
from attnkern.codegen.build import Selection
from attnkern.codegen.gpus import SUITE_TARGETS
from attnkern.errors import FailedError, UserError
from attnkern.home import CHECKOUT, exclusive, home, scratch
from attnkern.revisions.history import Revision

MACHINE = "compiler"
MACHINE_FIELDS = {"os": "any", "arch": "any", "cpu": "none", "num_cpu": "0", "ram": "0"}
RESULTS = CHECKOUT / "results"
PAGES = CHECKOUT / ".asv" / "html"
SOME_BENCHMARK_FAILED = 2  # asv run's exit code for it: an artifact that does not compile is data


def check(selection: Selection) -> None:
    """Raises UserError for what the suite can't record, before anything is compiled for it."""
    check_home()
    if neighbours := [case.name for case in selection.cases if case.name not in CASES]:
        raise UserError(f"the suite records its own cases, not {neighbours[0]}: for that use `attnkern profile`")
    if other := set(selection.targets) - set(SUITE_TARGETS):
        raise UserError(
            f"the suite records {', '.join(SUITE_TARGETS)}: for {', '.join(sorted(other))} use `attnkern profile`"
        )


def check_home() -> None:
    """Raises UserError where asv and attnkern would not look at the same history."""
    if home().resolve() != (CHECKOUT / ".attnkern").resolve():
        raise UserError(
            f"ATTNKERN_HOME is {home()}, and asv.conf.json has its history in .attnkern: unset it, or make .attnkern"
            " a link to that folder"
        )


def record(revisions: Sequence[Revision], selection: Selection, jobs: int) -> None:
    """`asv run` over the revisions whose selection is not in the results, or was compiled anew since.

    Raises FailedError when asv itself fails.
    """
    for revision in revisions:
        profiles.record(revision, selection, RESULTS)
    new = [revision for revision in revisions if not recorded(revision, selection)]
    if not new:
        return
    for revision in new:
        for path in result_files(revision):
            if figures_in(path) is None:
                path.unlink()  # half a file, from a run that was killed; asv gives up at the sight of one
    asv("machine", "--yes", "--machine", MACHINE, *itertools.chain(*((f"--{k}", v) for k, v in MACHINE_FIELDS.items())))
    cases = "|".join(case.name for case in selection.cases)
    targets = "|".join(selection.targets)
    with exclusive("asv"), scratch("record") as folder:
        hashes = folder / "hashes"
        hashes.write_text("".join(f"{revision.commit}\n" for revision in new))
        asv(
            "run", f"HASHFILE:{hashes}", "--machine", MACHINE, "--bench", rf"^codegen\..*'({cases})', '({targets})'\)$",
            environment={
                "ATTNKERN_CASES": ",".join(case.name for case in selection.cases),
                "ATTNKERN_TARGETS": ",".join(selection.targets),
                "ATTNKERN_JOBS": str(jobs),
            },
            say=f"recording {len(new)} of {len(revisions)} revisions",
        )  # fmt: skip


def recorded(revision: Revision, selection: Selection) -> bool:
    """Whether every figure of the selection is in a result file that is not older than the outcomes."""
    made = max(store.made_at(revision.commit, key) for key in selection.artifacts())
    return any(path.stat().st_mtime >= made and has_values(path, selection) for path in result_files(revision))


def result_files(revision: Revision) -> list[Path]:
    return sorted((RESULTS / MACHINE).glob(f"{revision.commit[:8]}-*.json"))


def figures_in(path: Path) -> Results | None:
    """asv's reading of a result file; None where it is not a whole one."""
    try:
        return Results.load(str(path), machine_name=MACHINE)
    except (asv_util.UserError, AttributeError, KeyError, TypeError, ValueError):
        return None


def has_values(path: Path, selection: Selection) -> bool:
    """Whether a result file has a value or a failure, not n/a, at each of the selection's parameters."""
    result = figures_in(path)
    if result is None:
        return False
    benchmarks = [name for name in result.get_all_result_keys() if name.startswith("codegen.")]
    wanted = {(repr(key.formulation), repr(key.case), repr(key.target)) for key in selection.artifacts()}
    for name in benchmarks:
        params = result.get_result_params(name)
        values = result.get_result_value(name, params)
        for place, combination in enumerate(itertools.product(*params)):
            value = values[place]
            if combination in wanted and isinstance(value, float) and math.isnan(value):
                return False
    return bool(benchmarks)


def publish() -> None:
    """`asv publish`, to which the plugin adds our pages and its safety."""
    asv("publish", say="publishing")


def asv(*arguments: str, environment: dict[str, str] | None = None, say: str | None = None) -> None:
    """Run asv of this Python; what it prints goes to a log, which an error names."""
    log = home() / f"asv-{arguments[0]}.log"
    if say:
        print(f"attnkern: {say}", file=sys.stderr, flush=True)
    with open(log, "w") as file:
        code = subprocess.run(
            [sys.executable, "-m", "asv", *arguments],
            cwd=CHECKOUT,
            env={**os.environ, **(environment or {})},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    if code and not (arguments[0] == "run" and code == SOME_BENCHMARK_FAILED):
        raise FailedError(f"`asv {arguments[0]}` failed: see {log}")
