"""Long work shows what it is doing and what is left: a live line in a terminal, a plain line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from attnkern.codegen.build import Progress

LOG_EVERY_S = 10.0


@contextlib.contextmanager
def shown() -> Iterator[Callable[[Progress], None]]:
    if sys.stderr.isatty():
        columns = (
            TextColumn("compiles"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
            TimeRemainingColumn(), TextColumn("{task.description}"),
        )  # fmt: skip
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda state: bar.update(task, total=state.total, completed=state.done, description=doing(state))
    else:
        last = time.monotonic()

        def log(state: Progress) -> None:
            nonlocal last
            if time.monotonic() - last >= LOG_EVERY_S:
                last = time.monotonic()
                now = doing(state) or "waiting"
                print(f"attnkern: {state.done} of {state.total} compiles, {now}", file=sys.stderr, flush=True)

        yield log


def doing(state: Progress) -> str:
    parts = sorted(state.compiling.values())
    if state.downloading:
        parts.append(f"downloading {state.downloading}")
    return "; ".join(parts)
