"""Recorded times of an artifact, to stand beside what is predicted of it."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

from attnkern.cases import CASES, case_named
from attnkern.codegen.artifact import Key
from attnkern.revisions.history import Revision
from attnkern.timing import record as timings
from attnkern.timing.measurement import PORTED_TARGET


def measured(revision: Revision, key: Key, results: Path) -> dict[str, float]:
    """Milliseconds by machine; ported code is named so."""
    case = suite_case(key.case)
    found: dict[str, float] = {}
    for folder in sorted(results.glob("*/measurements")):
        path = folder / f"{revision.commit[:8]}.json"
        for one in timings.read(path) if path.exists() else ():
            target = PORTED_TARGET if one.code == "ported" else one.machine.get("target")
            ms = one.formulations[key.formulation].ms
            if (one.case, target, one.inputs) == (case, key.target, "normal") and ms and math.isfinite(ms):
                name = folder.parent.name if one.code == "native" else f"{folder.parent.name}, ported"
                found[name] = ms
    return found


def suite_case(name: str) -> str:
    """The suite's own name of a neighbour, where it has one: `seed+n64` is tile-128x64. Only those are recorded."""
    wanted = case_named(name)
    return next((case.name for case in CASES.values() if dataclasses.replace(wanted, name=case.name) == case), name)
