"""What the compiler emitted, revision by revision: read from the bundle that asv installed, on any machine.

An artifact that is not in the bundle is n/a; one that failed to compile is a failed benchmark, with its message.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

from attnkern.cases import CASES, FORMULATIONS
from attnkern.codegen import bundle
from attnkern.codegen.artifact import Artifact, Key, Outcome
from attnkern.codegen.gpus import GPUS, REFERENCE, SUITE_TARGETS
from attnkern.codegen.profile import Profile, fit, profile


@functools.cache
def installed() -> tuple[bundle.Bundle, dict[str, dict[str, float]]]:
    """(bundle, costs by the artifact's name)."""
    spec = importlib.util.find_spec("attnkern_bundle")
    if spec is None or spec.origin is None:
        raise RuntimeError("no bundle is installed here")
    folder = Path(spec.origin).parent
    return bundle.read(folder), json.loads((folder / bundle.COSTS).read_text())


def figure(unit: str) -> Callable[[Callable[[Artifact, Profile], float]], Callable[[str, str, str], float]]:
    """A tracked benchmark over every artifact of the suite from a function of an artifact and its profile."""

    def decorate(measure: Callable[[Artifact, Profile], float]) -> Callable[[str, str, str], float]:
        @functools.wraps(measure)
        def track(formulation: str, case: str, target: str) -> float:
            outcome = outcome_of(formulation, case, target)
            if not isinstance(outcome, Artifact):
                raise RuntimeError(f"{outcome.kind} before {outcome.stage}: {outcome.message}")
            figures = installed()[0].figures[outcome.key.name]
            return measure(outcome, profile(outcome, figures, CASES[case]))

        del track.__wrapped__  # asv would take the inner function's signature and source for the benchmark's
        track.params = (list(FORMULATIONS), list(CASES), list(SUITE_TARGETS))
        track.param_names = ["formulation", "case", "target"]
        track.unit, track.version, track.timeout = unit, "1", 60
        track.setup = skip_absent
        return track

    return decorate


def skip_absent(formulation: str, case: str, target: str) -> None:
    if outcome_of(formulation, case, target) is None:
        raise NotImplementedError("not in this bundle")


def outcome_of(formulation: str, case: str, target: str) -> Outcome | None:
    return installed()[0].outcome(Key(case, formulation, target))


@figure("registers")
def track_registers(artifact: Artifact, profile: Profile) -> int:
    return artifact.ptxas.registers


@figure("bytes")
def track_spill_bytes(artifact: Artifact, profile: Profile) -> int:
    """Static bytes of spill stores and loads a thread, as ptxas counts them."""
    return artifact.ptxas.spill_bytes


@figure("ms")
def track_spill_floor_ms(artifact: Artifact, profile: Profile) -> float:
    """Predicted: the loop's stack traffic over the bandwidth of the target's reference GPU."""
    return fit(profile, GPUS[REFERENCE[artifact.key.target]]).spill_floor_ms


@figure("bytes")
def track_shared_bytes(artifact: Artifact, profile: Profile) -> int:
    return artifact.shared_bytes


@figure("bytes")
def track_code_bytes(artifact: Artifact, profile: Profile) -> int:
    return profile.sass.code_bytes


@figure("conversions")
def track_layout_conversions(artifact: Artifact, profile: Profile) -> int:
    return artifact.layout_conversions


@figure("1 if it launches")
def track_launchable_on_a100(artifact: Artifact, profile: Profile) -> int:
    return int(fit(profile, GPUS["A100"]).launchable)


track_launchable_on_a100.params = (list(FORMULATIONS), list(CASES), ["sm_80"])


@figure("s")
def track_compile_seconds(artifact: Artifact, profile: Profile) -> float:
    """Wall time of one compile, ptxas included, on whatever machine made the bundle."""
    return installed()[1][artifact.key.name]["wall_s"]
