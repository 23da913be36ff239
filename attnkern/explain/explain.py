"""Gathering an explanation: artifacts out of the store, dumps from the compilers, cells from their assemblers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attnkern.cases import FORMULATIONS, case_named
from attnkern.codegen import build, sass, store
from attnkern.codegen.artifact import Artifact, Key, Outcome
from attnkern.codegen.compile import CompileWorker, Limits
from attnkern.codegen.gpus import GPUS, REFERENCE
from attnkern.codegen.profile import fit
from attnkern.errors import FailedError
from attnkern.explain import live, passes, stages
from attnkern.explain.assemble import assemble, cubin_of, verdict
from attnkern.explain.explanation import Assembled, Explanation, Side
from attnkern.explain.measured import measured
from attnkern.explain.passes import Buffer, State, Step
from attnkern.explain.tools import LIVE_RANGES_FROM, Tool, tool
from attnkern.findings.rules import collapsed
from attnkern.home import scratch
from attnkern.revisions.history import Revision
from attnkern.revisions.wheel import provided

DUMP_VERSION = 1
POLL_S = 0.1
CAP = 255
"""Registers that a thread can have: what a cap is set to so that ptxas spills instead of giving up."""
DUMP_SWITCH = {"MLIR_ENABLE_DUMP": "1"}


@dataclasses.dataclass(frozen=True)
class Subject:
    """An artifact, or a failure, of a revision."""

    revision: Revision
    key: Key
    outcome: Outcome

    @property
    def name(self) -> str:
        return f"{self.revision.name} {self.key.formulation}"

    def text(self, stage: str) -> str:
        assert isinstance(self.outcome, Artifact)
        return store.read(self.revision.commit, self.outcome, f"kernel.{stage}").decode(errors="replace")


@dataclasses.dataclass(frozen=True)
class Dump:
    """What a compiler's passes left behind."""

    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    last_pass: str
    """The last one that began: where an aborted compile aborted."""


def subject(revision: Revision, key: Key) -> Subject:
    """Raises FailedError where it is not in the store."""
    outcome = store.load(revision.commit, key)
    if outcome is None:
        raise FailedError(f"{key.name} of {revision.name} is not in the store: `attnkern bundle {revision.name}` first")
    return Subject(revision, key, outcome)


def explain(
    before: Subject, after: Subject, releases: Sequence[Revision], assemblers: Sequence[Revision], results: Path
) -> Explanation:
    """Why `after` is not as `before`; the matrix has the assemblers of the two and of `assemblers`."""
    with ThreadPoolExecutor(2) as pool:
        dumps = list(pool.map(dump, (before, after)))
        disassembler = tool(next(one.release for one in releases if one.name == LIVE_RANGES_FROM), "nvdisasm")
        sides = list(pool.map(side, (before, after), dumps, [disassembler] * 2, [results] * 2))
        matrix = list(assembled((before, after), assemblers, pool))
    cells = {
        (i, j): one.cell
        for one in matrix
        for i, ptx in enumerate((before, after))
        for j, owner in enumerate((before, after))
        if (one.ptx, one.assembler) == (ptx.name, owner.revision.name)
    }
    whole = all(isinstance(one.outcome, Artifact) for one in (before, after))
    return Explanation(
        case=before.key.case,
        target=before.key.target,
        gpu=REFERENCE[before.key.target],
        before=sides[0],
        after=sides[1],
        stages=tuple(compared(before, after)) if whole else (),
        passes=tuple(passes.first_differences(dumps[0].steps, dumps[1].steps)),
        matrix=tuple(matrix),
        # What does not compile at all is nobody's but the compiler's.
        verdict=verdict(cells, sides[0].shared_bytes != sides[1].shared_bytes) if whole else "compiler",
    )


def compared(before: Subject, after: Subject) -> list[stages.StageDifference]:
    found = [
        stages.compare(stage, normalise(before.text(stage)), normalise(after.text(stage)))
        for stage, normalise in stages.NORMALISED.items()
    ]
    code = []
    for one in (before, after):
        assert isinstance(one.outcome, Artifact)
        cubin = store.read(one.revision.commit, one.outcome, "kernel.cubin")
        code.append(stages.normalised_sass(sass.disassemble(cubin)))
    return [*found, stages.compare("sass", *code)]


def side(subject: Subject, dump: Dump, disassembler: Tool, results: Path) -> Side:
    revision, outcome = subject.revision, subject.outcome
    if not isinstance(outcome, Artifact):
        where = f" in {dump.last_pass}" if dump.last_pass else ""
        failure = f"{outcome.kind}{where}, before {outcome.stage}: {outcome.message}"
        return Side(revision.name, revision.commit, subject.key.formulation, failure)
    profile = build.profiled(revision, outcome)
    fits = {name: fit(profile, gpu) for name, gpu in GPUS.items() if gpu.runs(outcome.key.target)}
    here = fits[REFERENCE[outcome.key.target]]
    cubin = store.read(revision.commit, outcome, "kernel.cubin")
    return Side(
        release=revision.name,
        commit=revision.commit,
        formulation=subject.key.formulation,
        failure=None,
        ptxas=outcome.ptxas.version,
        registers=outcome.ptxas.registers,
        stack_bytes=outcome.ptxas.stack_bytes,
        spill_bytes=outcome.ptxas.spill_bytes,
        shared_bytes=outcome.shared_bytes,
        buffers=dump.buffers,
        obstacle=here.obstacle,
        local_bytes_per_iteration=profile.sass.loop_local_load_bytes + profile.sass.loop_local_store_bytes,
        local_bytes_per_launch=profile.local_bytes_per_launch,
        floors_ms={name: one.spill_floor_ms for name, one in fits.items()},
        measured_ms=measured(revision, subject.key, results),
        pressure=live.pressure(cubin, disassembler),
        uncapped=(
            uncapped(subject, disassembler) if collapsed(outcome.ptxas.registers, outcome.ptxas.spill_bytes) else None
        ),
    )


def uncapped(subject: Subject, disassembler: Tool) -> live.Pressure | None:
    """The live registers of the same PTX under a cap, which makes ptxas spill a little instead of giving up."""
    assert isinstance(subject.outcome, Artifact)
    assembler = tool(subject.revision.release, assembler_of(subject.revision, subject.key))
    cubin = cubin_of(capped(subject.text("ptx"), CAP), subject.outcome.ptxas.options, assembler)
    return live.pressure(cubin, disassembler) if cubin else None


def capped(ptx: str, registers: int) -> str:
    """The PTX with a cap as Triton's `maxnreg` writes it (PTX ISA, "Performance-Tuning Directives")."""
    return re.sub(r"^(?=\.(?:reqntid|maxntid)\b)", f".maxnreg {registers}\n", ptx, count=1, flags=re.MULTILINE)


def assembled(subjects: Sequence[Subject], assemblers: Sequence[Revision], pool: ThreadPoolExecutor) -> list[Assembled]:
    """Every PTX under every assembler; the same binary is run once."""
    owners = {one.revision.name: one.revision for one in subjects} | {one.name: one for one in assemblers}
    key = subjects[0].key
    tools = {name: tool(one.release, assembler_of(one, key)) for name, one in owners.items()}
    made = [one for one in subjects if isinstance(one.outcome, Artifact)]
    jobs = {(one.name, binary.sha256): (one, binary) for one in made for binary in tools.values()}
    cells = dict(
        zip(
            jobs,
            pool.map(lambda job: assemble(job[0].text("ptx"), job[0].outcome.ptxas.options, job[1]), jobs.values()),
            strict=True,
        )
    )
    return [
        Assembled(one.name, owner, binary.version, cells[one.name, binary.sha256])
        for one in made
        for owner, binary in tools.items()
    ]


def assembler_of(revision: Revision, key: Key) -> str:
    """The binary that a revision assembles a target with: 3.9.0 takes ptxas-blackwell for sm_90 too."""
    for form in FORMULATIONS:
        outcome = store.load(revision.commit, dataclasses.replace(key, formulation=form))
        if isinstance(outcome, Artifact):
            return outcome.ptxas.version.split()[0]
    return "ptxas"


def dump(subject: Subject) -> Dump:
    """The passes of a compile, read once and kept beside the outcome."""
    name = f"passes-{DUMP_VERSION}.json"
    try:
        return dump_from(json.loads(store.noted(subject.revision.commit, subject.key, name) or ""))
    except (KeyError, TypeError, ValueError):  # not there yet, or damaged
        found = dumped(subject)
    store.note(subject.revision.commit, subject.key, name, json.dumps(dataclasses.asdict(found)).encode())
    return found


def dump_from(data: dict[str, object]) -> Dump:
    def state(fields: dict[str, object]) -> State:
        return State(**{**fields, "layouts": tuple(fields["layouts"]), "allocations": tuple(fields["allocations"])})  # type: ignore[arg-type]

    return Dump(
        tuple(Step(one["name"], state(one["state"])) for one in data["steps"]),  # type: ignore[attr-defined]
        tuple(Buffer(**one) for one in data["buffers"]),  # type: ignore[attr-defined]
        str(data["last_pass"]),
    )


def dumped(subject: Subject) -> Dump:
    """Compile once more with the compiler's dump on."""
    with scratch("dump") as folder, provided(subject.revision.release, keep=False) as triton:
        (folder / "worker").mkdir()
        log = folder / "worker" / "job" / "log"
        with CompileWorker(triton, folder / "worker", Limits(), DUMP_SWITCH) as worker, ThreadPoolExecutor(1) as thread:
            case = case_named(subject.key.case)
            compiling = thread.submit(worker.compile, subject.key, case, folder / "artifact")
            # All that is read comes before LLVM, which takes most of the time: it is not waited for.
            while not compiling.done() and not lowered(log):
                time.sleep(POLL_S)
            if not compiling.done():
                worker.process.terminate()
                with contextlib.suppress(FailedError):  # of the worker that was just ended
                    compiling.result()
        lines = log.read_text(errors="replace").splitlines()
    return Dump(tuple(passes.steps(lines)), tuple(passes.buffers(passes.last_module(lines))), passes.last_pass(lines))


def lowered(log: Path) -> bool:
    """Whether the dump has come to the lowering to LLVM, the module before it being whole."""
    return log.exists() and passes.lowering_begun(log.read_bytes())
