"""What people and programs read of measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from attnkern.cases import FORMULATIONS
from attnkern.timing.measurement import Measurement, Times

COLLAPSED = 32  # registers; see the README


def as_json(measurement: Measurement) -> list[dict[str, Any]]:
    """An object per formulation."""
    return [
        {
            "release": measurement.release,
            "commit": measurement.commit,
            "case": measurement.case,
            "formulation": formulation,
            "code": measurement.code,
            "inputs": measurement.inputs,
            "status": times.status,
            "message": times.message,
            "ms": times.ms,
            "ci_ms": times.ci_ms,
            "samples": len(times.samples_ms),
            "gap": measurement.gap,
            "gap_ci": measurement.gap_ci,
            "anchor_ratio": times.anchor_ratio,
            "anchor_ms": measurement.anchor_ms,
            "error": times.error,
            "registers": times.registers,
            "local_bytes_per_thread": times.local_bytes_per_thread,
            "spill_floor_ms": floor(measurement, times),
            "yardstick_ms": measurement.yardstick_ms,
            "sm_clock_mhz": clock(times),
            "mcycles": times.mcycles,
            "marks": measurement.marks,
            "gpu": measurement.machine.get("gpu"),
            "driver": measurement.machine.get("driver"),
        }
        for formulation, times in measurement.formulations.items()
    ]


def floor(measurement: Measurement, times: Times) -> float | None:
    """The predicted floor; of ported code only where it collapsed, for the figure is that of the sm_80 machine code,
    which collapses in more places than the driver's assembler does."""
    if measurement.code == "ported" and times.registers != COLLAPSED:
        return None
    return times.spill_floor_ms


def clock(times: Times) -> float | None:
    """Median SM clock while the samples ran, MHz."""
    return statistics.median(times.sm_clocks_mhz) if times.sm_clocks_mhz else None


def gap_in_cycles(measurement: Measurement) -> float | None:
    """Of the medians; beside the gap of times it tells a changed clock from a changed kernel."""
    direct, transposed = (measurement.formulations[form].mcycles for form in FORMULATIONS)
    return direct / transposed if direct and transposed else None


def line(measurement: Measurement) -> str:
    parts = [f"{name} {brief(times)}" for name, times in measurement.formulations.items()]
    gap = f", gap {measurement.gap:.3f}" if measurement.gap else ""
    marks = f" ({', '.join(measurement.marks)})" if measurement.marks else ""
    return f"{measurement.release} {measurement.case} {measurement.code}: {', '.join(parts)}{gap}{marks}"


def brief(times: Times) -> str:
    return f"{times.ms:.4g} ms" if times.ms is not None else times.status


def table(measurements: Sequence[Measurement]) -> Table:
    first = measurements[0]
    yardstick = ", ".join(f"{name} {ms:.3f} ms" for name, ms in first.yardstick_ms.items()) or "none"
    machine = first.machine
    printed = Table(
        title=f"case {first.case}, {first.code} code on {machine.get('gpu')} (driver {machine.get('driver')})",
        caption=f"± is half a 95 % interval; PyTorch's own backward, measured beside it: {yardstick}",
        title_justify="left",
        caption_justify="left",
    )
    for name in (
        "release", "direct ms", "transposed ms", "gap", "in cycles", "error", "anchor ms", "SM MHz", "samples", "notes",
    ):  # fmt: skip
        printed.add_column(name, justify="left" if name in ("release", "notes") else "right")
    for m in measurements:
        printed.add_row(*cells(m))
    return printed


def cells(measurement: Measurement) -> list[str | Text]:
    times = measurement.formulations
    errors = [t.error for t in times.values() if t.error is not None]
    told = [f"{name}: {t.message}" for name, t in times.items() if t.message]
    collapsed = [beside_floor(name, t) for name, t in times.items() if t.registers == COLLAPSED and t.ms is not None]
    notes = [*measurement.marks, *told, *collapsed]
    in_cycles = gap_in_cycles(measurement)
    clocks = [mhz for mhz in map(clock, times.values()) if mhz is not None]
    return [
        measurement.release,
        with_interval(times["direct"]),
        with_interval(times["transposed"]),
        f"{measurement.gap:.4f} ± {measurement.gap_ci:.4f}" if measurement.gap else "–",
        f"{in_cycles:.4f}" if in_cycles else "–",
        f"{max(errors):.1e}" if errors else "–",
        f"{measurement.anchor_ms:.4f}" if measurement.anchor_ms else "–",
        f"{statistics.median(clocks):.0f}" if clocks else "–",
        str(max(len(t.samples_ms) for t in times.values())),
        "; ".join(notes),
    ]


def beside_floor(name: str, times: Times) -> str:
    floor = f", floor {times.spill_floor_ms:.1f} ms" if times.spill_floor_ms is not None else ""
    return f"{name} collapsed to 32 registers{floor}"


def with_interval(times: Times) -> str:
    return f"{times.ms:.4f} ± {times.ci_ms:.4f}" if times.ms is not None else times.status


def jit_comparison(compared: dict[str, Any]) -> str:
    """What `--check-jit` prints first."""
    machine = compared["machine"]
    lines = [
        f"Triton {compared['triton']} on {machine['gpu']} (driver {machine['driver']}, torch {machine['torch']}), seed:"
    ]
    for formulation in ("direct", "transposed"):
        found = compared[formulation]
        jit, ours = found["jit"], found["bundle"]
        lines.append(
            f"  {formulation:10}  registers {jit['registers']} / {ours['registers']}"
            f"  spills {found['spills_jit']} / {found['spills_bundle']}"
            f"  shared {jit['shared_bytes']} / {ours['shared_bytes']}"
            f"  ms {jit['ms']:.4f} / {ours['ms']:.4f}"
            f"  ratio {found['ratio']:.4f} ± {found['ratio_ci']:.4f}"
            f"  same machine code: {'yes' if found['same_code'] else 'no'}"
        )
    return "\n".join([*lines, "  (JIT / bundle)"])


def spread_table(spreads: dict[str, list[dict[str, Any]]]) -> str:
    """Minimum, maximum and spread between fresh processes, as a Markdown table."""
    names = {"do_bench": "JIT launch, do_bench median, one after the other", "bundle": "bundle, our rotation"}
    lines = ["| method | direct ms | transposed ms | gap | measuring s | process s |", "|---|---|---|---|---|---|"]
    for mode, runs in spreads.items():
        figures = [spread([run[name] for run in runs]) for name in ("direct", "transposed", "gap")]
        durations = [
            f"{min(run[name] for run in runs):.1f} to {max(run[name] for run in runs):.1f}"
            for name in ("measuring_s", "wall_s")
        ]
        lines.append(f"| {names[mode]} | {' | '.join(figures)} | {' | '.join(durations)} |")
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.4f} to {high:.4f} ({100 * (high - low) / low:.2f} %)"
