"""The recorded results, read into series. A bad value costs that value, a bad file that file, each with a warning.

Of a machine both are read: the measurements beside asv's results, which hold everything, and asv's own result files for
revisions that only `asv run` timed.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from attnkern.cases import CASES, FORMULATIONS, Formulation
from attnkern.codegen import record as profiles
from attnkern.codegen.artifact import Artifact, Key
from attnkern.codegen.bundle import Bundle
from attnkern.codegen.gpus import GPUS, REFERENCE
from attnkern.codegen.profile import fit, profile
from attnkern.findings.judge import Run, run_of
from attnkern.findings.rules import Kind
from attnkern.findings.series import Broken, Built, CaseSeries, Figures, Loaded, Moment, Place, Timed
from attnkern.timing.measurement import PORTED_TARGET

T = TypeVar("T")

KIND_OF_STATUS: dict[str, Kind] = {
    "not-compiled": "cannot-compile",
    "cannot-launch": "cannot-launch",
    "wrong-result": "wrong-result",
    "fault": "wrong-result",
    "timeout": "wrong-result",
}
"""What a measurement's status would be as a finding; "out-of-memory" is the machine's affair, and no record."""


@dataclass
class Records:
    """What was read, and what could not be."""

    moments: tuple[Moment, ...]
    series: list[CaseSeries] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass
class Timings:
    """One machine and code, by case and place in the moments."""

    gpu: str
    target: str
    times: dict[tuple[str, Formulation, int], Timed] = field(default_factory=dict)
    gaps: dict[tuple[str, int], Run] = field(default_factory=dict)
    loaded: dict[tuple[str, Formulation, int], Loaded] = field(default_factory=dict)


def read_records(results: Path, moments: Sequence[Moment]) -> Records:
    """Everything recorded of the revisions, which are given oldest first."""
    records = Records(tuple(moments))
    index = {moment.commit: place for place, moment in enumerate(moments)}
    built = read_profiles(results, index, records.warnings)
    records.series += target_series(built, len(moments))
    for folder in sorted(path for path in results.iterdir() if path.is_dir()) if results.is_dir() else ():
        if folder.name != "compiler":
            records.series += machine_series(folder, index, built, len(moments), records.warnings)
    return records


def read_profiles(results: Path, index: dict[str, int], warnings: list[str]) -> dict[Key, dict[int, Built]]:
    """By key and place: the figures on the target's reference GPU, or the failure."""
    built: dict[Key, dict[int, Built]] = defaultdict(dict)
    for path in sorted((results / "compiler" / "profiles").glob("*.json")):
        try:
            bundle = profiles.read(path)
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            warnings.append(f"{path}: left out, no whole record ({error}); record it again with scripts/bench")
            continue
        if bundle.commit not in index:
            warnings.append(f"{path}: left out, {bundle.commit[:12]} is no revision of the history")
            continue
        for key, state in states_of(bundle, path, warnings):
            built[key][index[bundle.commit]] = state
    return built


def states_of(bundle: Bundle, path: Path, warnings: list[str]) -> Iterator[tuple[Key, Built]]:
    for outcome in bundle.outcomes:
        if outcome.key.case not in CASES or outcome.key.target not in REFERENCE:
            warnings.append(f"{path}: {outcome.key.name} left out, there is no such case or target now")
        elif not isinstance(outcome, Artifact):
            message = f"{outcome.kind} before {outcome.stage}: {outcome.message}"
            yield outcome.key, Broken("cannot-compile", message)
        elif outcome.key.name not in bundle.figures:
            warnings.append(f"{path}: {outcome.key.name} left out, its machine code's figures are missing")
        else:
            yield outcome.key, figures_of(outcome, bundle)


def figures_of(artifact: Artifact, bundle: Bundle) -> Figures:
    sass = bundle.figures[artifact.key.name]
    whole = profile(artifact, sass, CASES[artifact.key.case])
    here = fit(whole, GPUS[REFERENCE[artifact.key.target]])
    return Figures(
        registers=artifact.ptxas.registers,
        stack_bytes=artifact.ptxas.stack_bytes,
        spill_bytes=artifact.ptxas.spill_bytes,
        shared_bytes=artifact.shared_bytes,
        code_bytes=sass.code_bytes,
        layout_conversions=artifact.layout_conversions,
        local_bytes_per_launch=whole.local_bytes_per_launch,
        floor_ms=here.spill_floor_ms,
        floor_level=here.spill_floor_level,
        programs_per_sm=here.programs_per_sm,
        occupancy=here.occupancy,
        obstacle=here.obstacle,
        code_sha256=sass.code_sha256,
        ptx_sha256=artifact.files["kernel.ptx"].sha256,
        ptxas=artifact.ptxas.version,
    )


def target_series(built: dict[Key, dict[int, Built]], count: int) -> list[CaseSeries]:
    found = sorted({(key.case, key.target) for key in built}, key=lambda pair: (list(CASES).index(pair[0]), pair[1]))
    return [
        CaseSeries(
            case, Place(target, REFERENCE[target]), built_of(built, case, target, count), flops=CASES[case].flops
        )
        for case, target in found
    ]


def built_of(
    built: dict[Key, dict[int, Built]], case: str, target: str, count: int
) -> dict[Formulation, Sequence[Built]]:
    return {form: spread(built.get(Key(case, form, target), {}), count) for form in FORMULATIONS}


def machine_series(
    folder: Path, index: dict[str, int], built: dict[Key, dict[int, Built]], count: int, warnings: list[str]
) -> list[CaseSeries]:
    found = read_measurements(folder, index, warnings)
    series = []
    for code, timings in sorted(found.items()):
        place = Place(folder.name, timings.gpu, code)
        for case in [name for name in CASES if any(key[0] == name for key in timings.times)]:
            times = {
                form: spread(
                    {at: state for (c, f, at), state in timings.times.items() if (c, f) == (case, form)}, count
                )
                for form in FORMULATIONS
            }
            gaps = spread({at: run for (c, at), run in timings.gaps.items() if c == case}, count)
            loaded = {
                form: spread({at: one for (c, f, at), one in timings.loaded.items() if (c, f) == (case, form)}, count)
                for form in FORMULATIONS
            }
            code_built = built_of(built, case, timings.target, count)
            series.append(CaseSeries(case, place, code_built, times, gaps, loaded, CASES[case].flops))
    return series


def read_measurements(folder: Path, index: dict[str, int], warnings: list[str]) -> dict[str, Timings]:
    """A machine's timings, by code."""
    gpu = gpu_of(folder, warnings)
    found: dict[str, Timings] = {}
    measured: set[str] = set()
    for path in sorted((folder / "measurements").glob("*.json")):
        for entry in entries_of(path, warnings):
            try:
                if entry["inputs"] != "normal":
                    continue
                commit, case, code = str(entry["commit"]), str(entry["case"]), str(entry["code"])
                target = PORTED_TARGET if code == "ported" else str(entry["machine"]["target"])
                formulations = dict(entry["formulations"])
            except (KeyError, TypeError, ValueError) as error:
                warnings.append(f"{path}: a measurement left out, it lacks {error}")
                continue
            if commit not in index or case not in CASES or code not in ("native", "ported"):
                what = f"revision {commit[:12]}" if commit not in index else f"case {case!r} with {code!r} code"
                warnings.append(f"{path}: a measurement left out, there is no {what} now")
                continue
            measured.add(commit)
            timings = found.setdefault(code, Timings(gpu, target))
            where = f"{path}: {case} {code}"
            for form in FORMULATIONS:
                state = timed(formulations.get(form), f"{where} {form}", warnings)
                if state is not None:
                    timings.times[case, form, index[commit]] = state
                    if (loaded := loaded_of(formulations[form])) is not None:
                        timings.loaded[case, form, index[commit]] = loaded
            gaps = numbers(entry.get("gap_samples"), f"{where} gap", warnings)
            if gaps:
                timings.gaps[case, index[commit]] = run_of(gaps)
    for path in sorted(folder.glob("*.json")):
        if path.name != "machine.json":
            read_asv_results(path, index, measured, gpu, found, warnings)
    return found


def timed(entry: Any, where: str, warnings: list[str]) -> Timed:
    """One formulation's times: the means of its blocks, two launches each."""
    if not isinstance(entry, dict):
        warnings.append(f"{where}: left out, it holds no times")
        return None
    status = entry.get("status")
    if status == "ok":
        samples = numbers(entry.get("samples_ms"), where, warnings)
        return run_of(blocks_of(samples)) if samples else None
    kind = KIND_OF_STATUS.get(str(status))
    return Broken(kind, str(entry.get("message", status))) if kind else None


def loaded_of(entry: dict[str, Any]) -> Loaded | None:
    registers, local = entry.get("registers"), entry.get("local_bytes_per_thread")
    return Loaded(registers, local) if isinstance(registers, int) and isinstance(local, int) else None


def blocks_of(samples: Sequence[float]) -> list[float]:
    """Each form runs twice in a block: direct, transposed, transposed, direct."""
    if len(samples) < 4 or len(samples) % 2:
        return list(samples)
    return [(first + second) / 2 for first, second in zip(samples[::2], samples[1::2], strict=True)]


def read_asv_results(
    path: Path, index: dict[str, int], measured: set[str], gpu: str, found: dict[str, Timings], warnings: list[str]
) -> None:
    """asv's own result file of a revision without measurements beside it: what `asv run` leaves on a GPU."""
    try:
        data = json.loads(path.read_text())
        commit, columns, results = str(data["commit_hash"]), list(data["result_columns"]), dict(data["results"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        warnings.append(f"{path}: left out, it is no whole result file ({error})")
        return
    if commit in measured:
        return
    if commit not in index:
        warnings.append(f"{path}: left out, {commit[:12]} is no revision of the history")
        return
    for name, wanted in (("timing.track_time_ms", 3), ("timing.track_gap", 2)):
        entry = dict(zip(columns, results.get(name) or [], strict=False))
        if not entry:
            continue
        for params, value, samples in cells_of(entry, wanted, f"{path}: {name}", warnings):
            *form, case, code = params
            if case not in CASES or code not in ("native", "ported") or (form and form[0] not in FORMULATIONS):
                warnings.append(f"{path}: {name} of {' '.join(params)} left out, there is no such case now")
                continue
            where = f"{path}: {name} of {' '.join(params)}"
            target = PORTED_TARGET if code == "ported" else target_of(gpu)
            timings = found.setdefault(code, Timings(gpu, target))
            place = index[commit]
            if value is None and form:
                timings.times[case, form_named(form[0]), place] = Broken(
                    "wrong-result", "failed under `asv run`, whose output says why"
                )
                continue
            values = numbers(samples if samples else [value], where, warnings) if value is not None else []
            if values and form:
                timings.times[case, form_named(form[0]), place] = run_of(blocks_of(values))
            elif values:
                timings.gaps[case, place] = run_of(values)


def cells_of(
    entry: dict[str, Any], wanted: int, where: str, warnings: list[str]
) -> Iterable[tuple[list[str], Any, Any]]:
    """(parameters, value, samples) of each parameter combination that was run."""
    params, values = entry.get("params"), entry.get("result")
    if not isinstance(params, list) or len(params) != wanted or not isinstance(values, list):
        warnings.append(f"{where} left out, its parameters or values are missing")
        return
    names: list[list[str]] = [[]]
    for axis in params:
        names = [[*name, str(value).strip("'")] for name in names for value in axis]
    samples = entry.get("samples")
    if not isinstance(samples, list) or len(samples) != len(names):
        samples = [None] * len(names)
    if len(values) != len(names):
        warnings.append(f"{where} left out, it has {len(values)} values for {len(names)} parameters")
        return
    for name, value, some in zip(names, values, samples, strict=True):
        if not (isinstance(value, float) and math.isnan(value)):  # asv's n/a: not measured
            yield name, value, some


def numbers(values: Any, where: str, warnings: list[str]) -> list[float]:
    """The positive finite numbers among them; each other one is a warning."""
    if values is None:
        return []
    if not isinstance(values, list):
        warnings.append(f"{where}: left out, {values!r:.40} is no list of numbers")
        return []
    good = [
        float(value)
        for value in values
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    ]
    if len(good) < len(values):
        bad = next(value for value in values if value not in good)
        warnings.append(f"{where}: {len(values) - len(good)} of {len(values)} values left out, {bad!r:.40} among them")
    return good


def entries_of(path: Path, warnings: list[str]) -> list[dict[str, Any]]:
    try:
        entries = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        warnings.append(f"{path}: left out, it is no whole file ({error})")
        return []
    if not isinstance(entries, list):
        warnings.append(f"{path}: left out, it holds no measurements")
        return []
    good = [entry for entry in entries if isinstance(entry, dict)]
    if len(good) < len(entries):
        warnings.append(f"{path}: {len(entries) - len(good)} entries left out, they are no measurements")
    return good


def gpu_of(folder: Path, warnings: list[str]) -> str:
    """The GPU's name, as the machine's file has it."""
    try:
        return str(json.loads((folder / "machine.json").read_text())["cpu"]).removeprefix("NVIDIA ")
    except (OSError, KeyError, TypeError, ValueError) as error:
        warnings.append(f"{folder / 'machine.json'}: unreadable ({error}), so the GPU has no name")
        return "unknown GPU"


def target_of(gpu: str) -> str:
    """The target that is native to a GPU of that name; none where it is unknown."""
    known = next((model for name, model in GPUS.items() if name.lower() in gpu.lower()), None)
    return f"sm_{known.capability}" if known else ""


def form_named(name: str) -> Formulation:
    return "direct" if name == "direct" else "transposed"


def spread(states: dict[int, T], count: int) -> tuple[T | None, ...]:
    return tuple(states.get(place) for place in range(count))
