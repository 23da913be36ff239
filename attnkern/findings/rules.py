"""The rules and their constants, in one place: what makes a finding, of which kind and how severe.

`explanation()` says them to people, with the constants that are used; the page that it fills is never written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "cannot-launch",
    "cannot-compile",
    "wrong-result",
    "direct-regressed",
    "transposed-regressed",
    "gap-closed-by-transposed",
    "gap-inverted",
    "gap-opened",
    "recovered",
    "direct-improved",
    "transposed-improved",
    "gap-closed-by-direct",
]
Severity = Literal["critical", "major", "minor", "good"]
RUNS_NOT: tuple[Kind, ...] = ("cannot-launch", "cannot-compile", "wrong-result")
SEVERITIES: tuple[Severity, ...] = ("critical", "major", "minor", "good")

# Times: significance.
TRIM = 0.2
"""Share of a run's blocks left out at either end: what else the machine did for a moment."""
CONFIDENCE = 0.95
"""Of the intervals shown."""
FALSE_PER_STEP = 8e-4
"""False changes allowed per series and step, whatever the number of series; the lags share them."""
FALSE_PER_REVISION = 0.02
"""And in all series of a machine together, per step (Bonferroni)."""
LAGS = (0, 1, 2, 4, 8)
"""How many earlier runs stand with the newest one on the right of a possible step."""
LEVEL_RUNS = 60
"""The most runs that a level remembers, so that slow drift does not count for ever."""
PRIOR_NOISE = 0.005
"""Relative noise between runs assumed of a machine of which nothing is known. The recorded H200 shows 0.05 %."""
PRIOR_PAIRS = 4
"""So many pairs of runs, or degrees of freedom, must speak of the noise; where they are fewer, the prior stands for
those that lack."""
GAUGE_LEFT_OUT = 0.02
"""Share of the gauge's widest pairs that is left out."""

# Times: relevance.
RELEVANT_TIME = 0.005
"""The least relative change of a time that a person would care for."""
RELEVANT_GAP = 0.02
"""The same of a gap."""
OPEN_GAP = 1.05
"""From here on a gap is open: direct takes 5 % longer. Below its reciprocal it is inverted, between them closed."""

# Profiles: relevance. They are exact, so that significance is no question.
COLLAPSED_REGISTERS = 32
"""What ptxas allots once it has given up: all else goes through the stack (triton-lang/triton issue 1806)."""
RELEVANT_FLOOR = 0.10
"""The least relative change of a spill floor that a person would care for, where it is also RELEVANT_FLOOR_MS."""
PEAK_FLOPS_PER_S = 312e12
"""float16 tensor peak of an A100 (NVIDIA A100 datasheet). A spill floor's change counts from the time on that the
kernel's five products would take at it: less is lost among what else bounds the kernel."""

# Severity.
CRITICAL_FACTOR = 2.0
"""A time this many times longer is critical, as is all that does not run or computes something else."""
MAJOR_FACTOR = 1.10


@dataclass(frozen=True)
class Meaning:
    """What a kind says."""

    good: bool
    sentence: str


KINDS: Mapping[Kind, Meaning] = {
    "cannot-launch": Meaning(False, "asks for more than the GPU grants, where the last working revision did not"),
    "cannot-compile": Meaning(False, "the compiler aborts, raises or hangs, where the last working revision compiled"),
    "wrong-result": Meaning(False, "faults, hangs or computes something else than attention's gradients in float64"),
    "direct-regressed": Meaning(False, "the direct form became slower"),
    "transposed-regressed": Meaning(False, "the transposed form became slower"),
    "gap-closed-by-transposed": Meaning(False, "the gap closed because the transposed form became slow"),
    "gap-inverted": Meaning(False, "the direct form is the faster one now; the evidence says whose doing that is"),
    "gap-opened": Meaning(False, "the direct form is the slower one again"),
    "recovered": Meaning(True, "compiles, launches or computes right again"),
    "direct-improved": Meaning(True, "the direct form became faster"),
    "transposed-improved": Meaning(True, "the transposed form became faster"),
    "gap-closed-by-direct": Meaning(True, "the gap closed because the direct form became fast"),
}
"""In the order in which equal severities are listed."""


def collapsed(registers: int, spill_bytes: int) -> bool:
    """Whether the assembler has given up; few registers without spills are merely few."""
    return registers <= COLLAPSED_REGISTERS and spill_bytes > 0


def severity_of(kind: Kind, factor: float) -> Severity:
    """Of a change that made a time `factor` times as long (for a gap: that of the form which caused it)."""
    if kind in RUNS_NOT:
        return "critical"
    if KINDS[kind].good or factor <= 1:
        return "good"
    if factor >= CRITICAL_FACTOR:
        return "critical"
    return "major" if factor >= MAJOR_FACTOR else "minor"


@dataclass(frozen=True)
class Section:
    title: str
    paragraphs: tuple[str, ...]


def explanation() -> list[Section]:
    """The rules in words, for the page and for `attnkern findings --rules`."""
    return [
        Section(
            "What is compared",
            (
                "Each revision with the last one before it that worked, for each case, and for each target (what the"
                " compiler emitted, held against one GPU's limits) or machine (what was timed there).",
                "Identical machine code is unchanged, by definition: it never yields a finding on times. How its times"
                " differ is the noise of that machine, shown as its gauge.",
                "A revision that could not be judged is counted as such; it is not one where nothing changed.",
            ),
        ),
        Section(
            "Times: is it so? (significant)",
            (
                f"A run's value is the mean of its blocks without the lowest and the highest {TRIM:.0%}. The noise"
                f" between runs comes from the gauge (without its widest {GAUGE_LEFT_OUT:.0%} of pairs) and from the"
                " spread of the series' own level; a run that is noisier within itself counts with its own spread."
                f" Where fewer than {PRIOR_PAIRS} pairs speak of the noise, {PRIOR_NOISE:.1%} is assumed for those"
                " that lack.",
                "The newest run, alone and with the"
                f" {', '.join(str(lag) for lag in LAGS[1:])} runs before it, is compared with the level before (up to"
                f" {LEVEL_RUNS} runs) by Student's t. At most {FALSE_PER_STEP:.2%} of the steps of an unchanged series"
                f" may look changed, and at most {FALSE_PER_REVISION:.0%} of the steps of all of a machine's series"
                " together.",
                f"Three answers: changed; unchanged, when the {CONFIDENCE:.0%} interval of the change lies within"
                f" ±{RELEVANT_TIME:.1%}; otherwise can't tell.",
            ),
        ),
        Section(
            "Times: would a person care? (relevant)",
            (
                f"A time that moved by {RELEVANT_TIME:.1%} or more. A gap (direct over transposed time) that moved by"
                f" {RELEVANT_GAP:.0%} or more and became open (from {OPEN_GAP:.2f} on), inverted (up to"
                f" {1 / OPEN_GAP:.3f}) or closed (between them).",
                "The form whose own time moved the gap more is the cause of its closing.",
            ),
        ),
        Section(
            "Profiles: exact, so only relevance is asked",
            (
                f"Registers that fall to {COLLAPSED_REGISTERS} with spills (the compiler's assembler has given up: a"
                " collapse) or rise from there. A spill floor (predicted: the stack traffic of the loop over the"
                f" bandwidth that serves it) that moves by {RELEVANT_FLOOR:.0%} or more and by at least the time of the"
                f" kernel's five products at {PEAK_FLOPS_PER_S / 1e12:.0f} TFLOP/s. Another number of programs that fit"
                " on a multiprocessor. Shared memory or registers beyond what a launch is granted.",
                "The gap of a profile is open while the direct form alone has collapsed, inverted while the transposed"
                " form alone has, and closed while neither or both have.",
                "All that moved at one revision in one artifact is one finding, with a piece of evidence for each"
                " figure.",
            ),
        ),
        Section(
            "Severity",
            (
                "critical: does not compile, launch or compute right, or takes"
                f" {CRITICAL_FACTOR:g} times as long or longer, or its registers collapsed. major: takes"
                f" {MAJOR_FACTOR:g} times as long or longer. minor: less; and whatever is predicted without a collapse."
                " good: an improvement. Lists are in this order, and within it by case, then by cost.",
            ),
        ),
        Section("Kinds", tuple(f"{kind}: {meaning.sentence}." for kind, meaning in KINDS.items())),
    ]
