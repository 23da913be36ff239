"""Recording: measurements as asv results, with everything that asv has no place for in files beside them.

`results/<machine>/<commit>-gpu.json` is asv's; `results/<machine>/measurements/<commit>.json` holds the
measurements whole: statuses, errors, clocks, the machine's facts.  Every field of the asv machine is fixed, for each is
a key of its graphs; its `cpu` is the GPU, by which another machine of the same name is told.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from asv.results import Results
from asv.runner import BenchmarkResult

from attnkern.cases import CASES
from attnkern.codegen.artifact import to_text
from attnkern.errors import FailedError, UserError
from attnkern.home import CHECKOUT, write_file
from attnkern.timing.measurement import Measurement, from_dict, to_dict
from attnkern.timing.series import SERIES, Series

RESULTS = CHECKOUT / "results"
ENVIRONMENT = "gpu"
PYTHON = "any"  # the interpreter has no part in what a cubin takes


def machine_fields(machine: str, gpu: str) -> dict[str, str]:
    return {"machine": machine, "os": "any", "arch": "any", "cpu": gpu, "num_cpu": "0", "ram": "0"}


def check_machine(machine: str, gpu: str) -> None:
    """Raises UserError where that name already stands for another GPU, before anything is recorded."""
    path = RESULTS / machine / "machine.json"
    if path.exists() and (known := json.loads(path.read_text())["cpu"]) != gpu:
        raise UserError(f"the machine {machine!r} in results is a {known}, this one is a {gpu}: give another --machine")


def check_recordable(measurements: Sequence[Measurement]) -> None:
    """Raises FailedError where another process was on the GPU: such times are nobody's, and none is recorded.

    A throttled measurement is recorded with its mark.
    """
    shared = [f"{m.release} {m.case} {m.code}" for m in measurements if "shared" in m.marks]
    if shared:
        raise FailedError(
            f"another process used this GPU during {len(shared)} of {len(measurements)} measurements ({shared[0]}, …):"
            " nothing is recorded; end it and measure again"
        )


def record(measurements: Sequence[Measurement], machine: str) -> list[Path]:
    """Add measurements to the results of a machine; returns the asv result files written."""
    gpu = measurements[0].machine["gpu"]
    check_machine(machine, gpu)
    fields = machine_fields(machine, gpu)
    write_file(RESULTS / machine / "machine.json", to_text({**fields, "version": 1}).encode())
    written = []
    for commit, group in itertools.groupby(sorted(measurements, key=lambda m: m.commit), key=lambda m: m.commit):
        whole = merged(stored(machine, commit), group)
        write_file(sidecar(machine, commit), json.dumps([to_dict(m) for m in whole], separators=(",", ":")).encode())
        written.append(record_asv(whole, fields))
    return written


def merged(old: Iterable[Measurement], new: Iterable[Measurement]) -> list[Measurement]:
    """By case, code and inputs; a new measurement takes an old one's place."""
    found = {(m.case, m.code, m.inputs): m for m in itertools.chain(old, new)}
    return [found[key] for key in sorted(found)]


def record_asv(measurements: Sequence[Measurement], fields: dict[str, str]) -> Path:
    """asv's result file for one commit, of all its checked measurements."""
    first = measurements[0]
    date_ms = int(datetime.fromisoformat(first.released).timestamp() * 1000)
    params = {**fields, "python": PYTHON}
    result = Results(params, {}, first.commit, date_ms, PYTHON, ENVIRONMENT, {})
    by_key = {(m.case, m.code): m for m in measurements if m.inputs == "normal"}
    for series in SERIES:
        samples = [samples_at(series, by_key, combination) for combination in itertools.product(*series.params)]
        result.add_result(
            {
                "name": f"timing.{series.name}",
                "version": "1",
                "params": [[repr(value) for value in values] for values in series.params],
            },
            BenchmarkResult(
                result=[value_of(found) for found in samples],
                samples=[found if found and len(found) > 1 else None for found in samples],
                number=[1 if found and len(found) > 1 else None for found in samples],
                errcode=0,
                stderr="",
                profile=None,
            ),
            started_at=datetime.fromisoformat(first.released),
            duration=sum(m.wall_s for m in measurements),
            record_samples=True,
        )
    result.save(str(RESULTS))
    return RESULTS / fields["machine"] / f"{first.commit[:8]}-{ENVIRONMENT}.json"


def samples_at(
    series: Series, measurements: dict[tuple[str, Any], Measurement], combination: tuple[str, ...]
) -> list[float] | None:
    """None where nothing was measured; an empty list where measuring it failed."""
    *formulation, case, code = combination
    measurement = measurements.get((case, code))
    if measurement is None:
        return None
    return series.samples(measurement, *formulation or [""])


def value_of(samples: list[float] | None) -> float | None:
    """asv's n/a where nothing was measured, its failure where that failed."""
    if samples is None:
        return math.nan
    return statistics.median(samples) if samples else None


def sidecar(machine: str, commit: str) -> Path:
    return RESULTS / machine / "measurements" / f"{commit[:8]}.json"


def stored(machine: str, commit: str) -> list[Measurement]:
    path = sidecar(machine, commit)
    return read(path) if path.exists() else []


def read(path: Path) -> list[Measurement]:
    try:
        return [from_dict(entry) for entry in json.loads(path.read_text())]
    except (KeyError, TypeError, ValueError) as error:
        raise FailedError(f"{path} is damaged: restore it, or measure again with --record") from error


def recorded(machine: str, case: str) -> list[Measurement]:
    """All of a machine's measurements of a case, oldest revision first; raises UserError for an unknown machine."""
    folder = RESULTS / machine / "measurements"
    if not folder.is_dir():
        known = sorted(path.parent.name for path in RESULTS.glob("*/measurements/")) or ["none"]
        raise UserError(f"no recordings of a machine {machine!r}: there are {', '.join(known)}")
    assert case in CASES
    found = [m for path in folder.glob("*.json") for m in read(path) if m.case == case]
    return sorted(found, key=lambda m: (m.released, m.code, m.inputs))
