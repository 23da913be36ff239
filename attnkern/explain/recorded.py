"""Explanations kept beside the results, for the pages: Markdown by what it explains."""

from __future__ import annotations

from pathlib import Path

from attnkern.codegen.compile import KERNEL
from attnkern.explain import reports
from attnkern.explain.explanation import Explanation
from attnkern.home import CHECKOUT, write_file

RESULTS = CHECKOUT / "results"


def write(explanation: Explanation) -> Path:
    path = path_of(
        RESULTS, explanation.before.commit, explanation.after.commit, explanation.case,
        explanation.after.formulation, explanation.target,
    )  # fmt: skip
    write_file(path, reports.markdown(explanation, KERNEL.read_text().splitlines()).encode())
    return path


def path_of(results: Path, since: str, commit: str, case: str, formulation: str, target: str) -> Path:
    folder = results / "compiler" / "explanations"
    return folder / f"{since[:8]}-{commit[:8]}-{case}-{formulation}-{target}.md"
