"""Building: from revisions to stored outcomes, the next Triton on its way while this one compiles."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from attnkern.cases import FORMULATIONS, Case, case_named
from attnkern.codegen import bundle, sass, store
from attnkern.codegen.artifact import Artifact, Failure, Key, Outcome
from attnkern.codegen.compile import SWITCHES, CompileWorker, Limits
from attnkern.codegen.profile import Profile, profile
from attnkern.errors import UserError
from attnkern.home import disk_errors, home, scratch, sweep
from attnkern.revisions.history import Revision
from attnkern.revisions.release import Release
from attnkern.revisions.wheel import provided


@dataclass(frozen=True)
class Selection:
    """Which of the suite's artifacts are wanted."""

    cases: tuple[Case, ...]
    targets: tuple[str, ...]

    def artifacts(self) -> list[Key]:
        """In the order of compiling: a direct form takes longer than its transposed one, so it goes first."""
        return [
            Key(case.name, formulation, target)
            for formulation in FORMULATIONS
            for case in self.cases
            for target in self.targets
        ]


@dataclass
class Progress:
    """What a build is doing; a listener is called at each change, from several threads, one at a time."""

    total: int
    """Compiles to do."""
    done: int = 0
    downloading: str = ""
    """A version, and how far its wheel is."""
    compiling: dict[str, str] = field(default_factory=dict)
    """What each thread compiles."""


@dataclass(frozen=True)
class BuildOptions:
    jobs: int = os.cpu_count() or 1
    keep: bool = False
    """Keep the unpacked Tritons."""
    retry_failures: bool = False
    """Compile again what failed before."""
    limits: Limits = Limits()


def build(
    revisions: Sequence[Revision],
    selection: Selection,
    options: BuildOptions,
    listen: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, UserError]:
    """Bring the store up to the selection; returns, by commit, why a revision's Triton could not be had.

    A compile that fails is an outcome like any other, and no error.
    """
    sweep()
    plan = [(revision, wanted) for revision in revisions if (wanted := missing(revision, selection, options))]
    progress = Progress(sum(len(wanted) for _, wanted in plan))
    watch = Watch(progress, listen)
    errors: dict[str, UserError] = {}
    fetcher = ThreadPoolExecutor(1)
    with ThreadPoolExecutor(options.jobs) as compilers:

        def fetch(place: int) -> ComingTriton | None:
            return ComingTriton(fetcher, plan[place][0].release, options.keep, watch) if place < len(plan) else None

        coming = fetch(0)
        try:
            for place, (revision, wanted) in enumerate(plan):
                assert coming is not None
                with coming as triton:
                    folder = triton.wait(errors, revision)
                    coming = fetch(place + 1)  # not sooner, so that never more than two Tritons are on the disk
                    if folder is None:
                        watch.skip(len(wanted))
                    else:
                        compile_all(compilers, revision, wanted, folder, options, watch)
        except BaseException:
            watch.stop()
            if coming is not None:
                coming.close()
            fetcher.shutdown(wait=False, cancel_futures=True)
            raise
    fetcher.shutdown()
    return errors


def missing(revision: Revision, selection: Selection, options: BuildOptions) -> list[Key]:
    wanted = []
    for key in selection.artifacts():
        outcome = store.load(revision.commit, key)
        if isinstance(outcome, Failure) and (options.retry_failures or starved(revision, key, outcome, options.limits)):
            store.forget(revision.commit, key)
            outcome = None
        if outcome is None:
            wanted.append(key)
    return wanted


def starved(revision: Revision, key: Key, failure: Failure, limits: Limits) -> bool:
    """Whether a compile failed for want of time or memory that it would be given now."""
    spent = store.costs(revision.commit, key)
    return (failure.kind == "timeout" and spent.timeout_s < limits.timeout_s) or (
        failure.kind == "out-of-memory" and spent.memory_bytes < limits.memory_bytes
    )


def outcomes(revision: Revision, selection: Selection) -> list[Outcome]:
    """The stored outcomes of the selection; those that were never made are left out."""
    found = (store.load(revision.commit, key) for key in sorted(selection.artifacts()))
    return [outcome for outcome in found if outcome is not None]


def write_bundle(revision: Revision, selection: Selection, folder: Path) -> Path:
    """Write the revision's bundle of the selection, as far as it is stored; returns the wheel's path."""
    found = outcomes(revision, selection)
    artifacts = [outcome for outcome in found if isinstance(outcome, Artifact)]
    contents = {
        f"{artifact.key.name}/{name}": store.read(revision.commit, artifact, name)
        for artifact in artifacts
        for name in artifact.files
    }
    profiles = [profiled(revision, artifact) for artifact in artifacts]
    costs = {outcome.key.name: store.costs(revision.commit, outcome.key) for outcome in found}
    made = bundle.Bundle(
        commit=revision.commit,
        version=revision.name,
        released=revision.release.uploaded.isoformat(),
        outcomes=tuple(found),
        figures={profile.artifact.key.name: profile.sass for profile in profiles},
        switches=dict(SWITCHES),
    )
    return bundle.write(made, contents, costs, folder)


def profiled(revision: Revision, artifact: Artifact) -> Profile:
    """The artifact's profile, its machine code read only once."""
    name = f"sass-{sass.FIGURES_VERSION}.json"
    try:
        figures = sass.SassFigures(**json.loads(store.noted(revision.commit, artifact.key, name) or ""))
    except (TypeError, ValueError):  # not there yet, or damaged
        figures = sass.figures(store.read(revision.commit, artifact, "kernel.cubin"))
        store.note(revision.commit, artifact.key, name, json.dumps(dataclasses.asdict(figures)).encode())
    return profile(artifact, figures, case_named(artifact.key.case))


def compile_all(
    compilers: ThreadPoolExecutor,
    revision: Revision,
    wanted: list[Key],
    triton: Path,
    options: BuildOptions,
    watch: Watch,
) -> None:
    """Compile a revision's missing artifacts, each thread with a worker of its own; the first error stops all."""
    queue: SimpleQueue[Key] = SimpleQueue()
    for key in wanted:
        queue.put(key)
    threads = [
        compilers.submit(compile_from, queue, revision, triton, options, watch)
        for _ in range(min(options.jobs, len(wanted)))
    ]
    try:
        for thread in threads:
            thread.result()
    except BaseException:
        watch.stop()  # before the Triton that they compile with goes away
        wait(threads)
        raise


def compile_from(
    queue: SimpleQueue[Key], revision: Revision, triton: Path, options: BuildOptions, watch: Watch
) -> None:
    with disk_errors(home()), scratch("compile") as folder:
        (folder / "worker").mkdir()
        with CompileWorker(triton, folder / "worker", options.limits) as worker, watch.watching(worker):
            while True:
                try:
                    key = queue.get_nowait()
                except Empty:
                    return
                with watch.compiling(revision, key):
                    outcome, costs = worker.compile(key, case_named(key.case), folder / key.name)
                    if watch.stopped:
                        return  # a compile that was cut off is no outcome
                    store.put(revision.commit, outcome, costs, folder / key.name)
                    if isinstance(outcome, Artifact):
                        profiled(revision, outcome)


class ComingTriton:
    """A Triton that is being provided in the background; a context that frees its disk at the end."""

    def __init__(self, fetcher: ThreadPoolExecutor, release: Release, keep: bool, watch: Watch):
        self.stack = contextlib.ExitStack()

        def on_bytes(count: int) -> None:
            watch.downloaded(release, count)

        self.folder: Future[Path] = fetcher.submit(lambda: self.stack.enter_context(provided(release, keep, on_bytes)))

    def wait(self, errors: dict[str, UserError], revision: Revision) -> Path | None:
        """The folder; None, with the reason in `errors`, where this Triton can't be had."""
        try:
            return self.folder.result()
        except UserError as error:
            errors[revision.commit] = error
            return None

    def close(self) -> None:
        """Free the disk.

        One that is still coming is left alone, for it may hang on an index that never answers; the next build sweeps.
        """
        if self.folder.done():
            self.stack.close()

    def __enter__(self) -> ComingTriton:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Stopped(Exception):
    """The build was broken off while this thread was downloading."""


class Watch:
    """The build's shared state: what its threads are doing, and whether they should stop."""

    def __init__(self, progress: Progress, listen: Callable[[Progress], None]):
        self.progress, self.listen = progress, listen
        self.lock = threading.Lock()
        self.stopped = False
        self.workers: set[CompileWorker] = set()

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for worker in self.workers:
                worker.process.terminate()

    def skip(self, count: int) -> None:
        with self.lock:
            self.progress.done += count
            self.listen(self.progress)

    def downloaded(self, release: Release, count: int) -> None:
        size = release.wheel_for().size
        with self.lock:
            if self.stopped:
                raise Stopped
            self.progress.downloading = (
                "" if count >= size else f"{release.version} {count / 1e6:.0f} of {size / 1e6:.0f} MB"
            )
            self.listen(self.progress)

    @contextlib.contextmanager
    def watching(self, worker: CompileWorker) -> Iterator[None]:
        with self.lock:
            self.workers.add(worker)
        try:
            yield
        finally:
            with self.lock:
                self.workers.remove(worker)

    @contextlib.contextmanager
    def compiling(self, revision: Revision, key: Key) -> Iterator[None]:
        thread = threading.current_thread().name
        with self.lock:
            self.progress.compiling[thread] = f"{revision.name} {key.case} {key.formulation} {key.target}"
            self.listen(self.progress)
        try:
            yield
        finally:
            with self.lock:
                del self.progress.compiling[thread]
                self.progress.done += 1
                self.listen(self.progress)
