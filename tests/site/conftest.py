"""A site of everything recorded: all releases' figures and the H200's times, published by a real asv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from attnkern.explain.recorded import path_of
from tests.conftest import copy_checkout
from tests.findings.builders import moments, write_results

EXPLANATION = """## Why it is so

| | 3.2.0 transposed | 3.3.0 transposed |
|---|---:|---:|
| registers | 255 | 32 |

<script>document.title = "attacked"</script>

```diff
+ % = tt.trans % {order = array<i32: 1, 0>} : tensor<128x128xf16, #blocked> -> tensor<128x128xf16, #blocked>
```
"""


@dataclass(frozen=True)
class Checkout:
    """A copy of this checkout with results of its own."""

    folder: Path

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def html(self) -> Path:
        return self.folder / ".asv" / "html"

    def asv(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("asv", *arguments)

    def python(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ATTNKERN_")}
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": str(self.folder), "HOME": str(self.folder.parent)},
            capture_output=True,
            text=True,
            check=False,
        )


def make_checkout(folder: Path) -> Checkout:
    copy_checkout(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNKERN_HOME", str(folder / ".attnkern"))
        releases = moments()
    write_results(folder / "results", releases)
    commits = {moment.release: moment.commit for moment in releases}
    kept = path_of(folder / "results", commits["3.2.0"], commits["3.3.0"], "seed", "transposed", "sm_80")
    kept.parent.mkdir(parents=True)
    kept.write_text(EXPLANATION)
    checkout = Checkout(folder)
    # What `asv run` leaves: the list of benchmarks, without which asv publishes nothing.
    checkout.asv("machine", "--yes", "--machine", "nobody")
    found = checkout.asv("run", "--bench", "just-discover", "-E", f"existing:{sys.executable}", "--machine", "nobody")
    shutil.rmtree(folder / "results" / "nobody", ignore_errors=True)
    assert (folder / "results" / "benchmarks.json").exists(), found.stdout + found.stderr
    return checkout


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = make_checkout(tmp_path_factory.mktemp("site") / "checkout")
    answer = checkout.asv("publish")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return checkout
