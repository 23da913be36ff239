"""`asv publish`, made safe: what asv 0.6.6 does not do itself, put around it by the plugin.

It deletes the old pages first, dies of one bad value in a result file, and writes its index last, so that no publisher
can see it. asv is pinned, and a test publishes with each kind of bad value.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Container
from pathlib import Path
from typing import Any

from asv import util
from asv.commands.publish import Publish
from asv.console import log
from asv.results import Results

from attnkern.errors import UserError
from attnkern.home import disk_errors
from attnkern.site import offline


def install(known_commits: Container[str]) -> None:
    """Put both ways round asv's own: publishing, and reading a result file."""
    publish, load = Publish.run.__func__, Results.load.__func__

    def run(cls: type[Publish], conf: Any, *arguments: Any, **options: Any) -> Any:
        final = Path(conf.html_dir)
        with disk_errors(final):
            final.parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=".publish-", dir=final.parent))
        try:
            conf.html_dir = str(folder / "html")
            code = publish(cls, conf, *arguments, **options)
            offline.fill_summaries(folder / "html")
            offline.write_scripts_beside_json(folder / "html")
            with disk_errors(final):
                if final.exists():
                    final.rename(folder / "old")
                (folder / "html").rename(final)
            return code
        except UserError as error:
            raise util.UserError(str(error)) from error
        finally:
            conf.html_dir = str(final)
            shutil.rmtree(folder, ignore_errors=True)

    def load_checked(cls: type[Results], path: str, machine_name: str | None = None) -> Results:
        try:
            results = load(cls, path, machine_name)
            if results.commit_hash not in known_commits:
                raise util.UserError(f"{path}: left out, {results.commit_hash[:12]} is no revision of the history")
            for problem in clean(results):
                log.warning(f"{os.path.relpath(path)}: {problem}")
        except (AttributeError, TypeError, ValueError, LookupError) as error:
            raise util.UserError(f"{path}: left out, it is no whole result file ({error})") from error
        return results

    Publish.run, Results.load = classmethod(run), classmethod(load_checked)


def clean(results: Results) -> list[str]:
    """Take out of a result file's contents what asv can't publish; says what that was.

    Raises TypeError where a value that all of asv leans on has another type.
    """
    if not isinstance(results.date, int | float) or not isinstance(results.params, dict):
        raise TypeError("its date or its machine is no such thing")
    problems = []
    for name in list(results._results):
        params, values = results._benchmark_params[name], results._results[name]
        whole = isinstance(params, list) and all(isinstance(axis, list) for axis in params)
        if not whole or (values is not None and not isinstance(values, list)):
            problems.append(f"{name} left out, its parameters or values are missing")
            drop(results, name)
            continue
        if values is not None and len(values) != math.prod(len(axis) for axis in params):
            problems.append(f"{name} left out, {len(values)} values for {math.prod(map(len, params))} parameters")
            drop(results, name)
            continue
        for place, value in enumerate(values or []):
            if values is not None and not publishable(value):
                problems.append(f"{name}: the value {value!r:.40} left out")
                values[place] = None
        stats = results._stats.get(name)
        if not isinstance(stats, list) or len(stats) != len(values or []):
            results._stats[name] = None
    return problems


def publishable(value: object) -> bool:
    """A finite number, None for a failure or NaN for n/a."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isinf(value)


def drop(results: Results, name: str) -> None:
    for kept in (
        results._results, results._benchmark_params, results._stats, results._samples, results._benchmark_version,
        results._started_at, results._profiles,
    ):  # fmt: skip
        kept.pop(name, None)
