"""The package index, as a real HTTP server on this machine that hands out what a test put there."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from attnkern.errors import FailedError
from attnkern.revisions import index
from attnkern.revisions.index import IndexConfiguration
from attnkern.revisions.release import Wheel

CP311 = "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64"
CONTENT = b"a wheel of some length"


@dataclass
class Index:
    url: str = ""
    files: list[dict[str, Any]] = field(default_factory=list)
    content: bytes = CONTENT
    content_length: int | None = None
    asked: int = 0

    def add(self, filename: str, **fields: Any) -> None:
        digest = hashlib.sha256(CONTENT).hexdigest()
        self.files.append(
            {
                "filename": filename,
                "url": f"{self.url}/files/{filename}",
                "hashes": {"sha256": digest},
                "size": len(CONTENT),
                "upload-time": "2025-03-04T05:06:07.891Z",
                "yanked": False,
                **fields,
            }
        )

    def page(self) -> bytes:
        return json.dumps({"meta": {"api-version": "1.1"}, "name": "triton", "files": self.files}).encode()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    served = Index()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked += 1
            body = served.page() if self.path.startswith("/simple") else served.content
            kind = "application/vnd.pypi.simple.v1+json" if self.path.startswith("/simple") else "application/zip"
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header(
                "Content-Length",
                str(len(body) if self.path.startswith("/simple") else served.content_length or len(body)),
            )
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    configuration = IndexConfiguration((f"{served.url}/simple/",), None, 5.0, None)
    monkeypatch.setattr(index, "index_configuration", lambda: configuration)
    yield served
    server.shutdown()
    server.server_close()


def test_what_counts_as_a_release(served: Index) -> None:
    served.add(f"triton-3.2.0-{CP311}.whl")
    served.add("triton-3.2.0-cp39-cp39-manylinux_2_17_x86_64.whl", **{"upload-time": "2025-01-02T03:04:05Z"})
    served.add(f"triton-1.1.0-{CP311}.whl")  # before 2.0.0
    served.add(f"triton-3.3.0rc1-{CP311}.whl")  # not final
    served.add("triton-3.3.0-cp311-cp311-manylinux_2_28_aarch64.whl")  # another processor
    served.add("triton-3.3.0.tar.gz")
    served.add(f"triton-3.4.0-{CP311}.whl", yanked="broken")
    served.add(f"triton-3.5.0-{CP311}.whl", hashes={})  # can't be checked
    (release,) = index.listed_releases()
    assert release.version == "3.2.0"
    assert release.uploaded.isoformat() == "2025-01-02T03:04:05+00:00"
    assert [wheel.filename for wheel in release.wheels] == [
        f"triton-3.2.0-{CP311}.whl",
        "triton-3.2.0-cp39-cp39-manylinux_2_17_x86_64.whl",
    ]


def wheel(digest: str = hashlib.sha256(CONTENT).hexdigest()) -> Wheel:
    return Wheel(f"triton-3.2.0-{CP311}.whl", digest, len(CONTENT))


def test_download(served: Index, tmp_path: Path) -> None:
    served.add(wheel().filename)
    counts: list[int] = []
    index.download(wheel(), tmp_path / "wheel", counts.append)
    assert (tmp_path / "wheel").read_bytes() == CONTENT
    assert counts == [len(CONTENT)]


def test_another_file_than_recorded(served: Index, tmp_path: Path) -> None:
    served.add(wheel().filename)
    with pytest.raises(FailedError, match=r"not the recorded file: 22 of 22 bytes, sha256 .* 000000000000… is"):
        index.download(wheel("0" * 64), tmp_path / "wheel")
    assert not (tmp_path / "wheel").exists()


def test_truncated(served: Index, tmp_path: Path) -> None:
    served.add(wheel().filename)
    served.content = CONTENT[:5]
    with pytest.raises(FailedError, match="is truncated: 5 of 22 bytes"):
        index.download(wheel(), tmp_path / "wheel")


def test_connection_that_breaks_off(served: Index, tmp_path: Path) -> None:
    served.add(wheel().filename)
    served.content, served.content_length = CONTENT[:5], len(CONTENT)
    with pytest.raises(FailedError, match=r"the download of triton-3\.2\.0.* broke off .*: try again"):
        index.download(wheel(), tmp_path / "wheel")
    assert served.asked == 1 + index.ATTEMPTS


def test_full_disk(served: Index) -> None:
    served.add(wheel().filename)
    with pytest.raises(FailedError, match="the disk is full at /dev/full"):
        index.download(wheel(), Path("/dev/full"))


def test_gone_from_the_index(served: Index, tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=r"no index has triton-3\.2\.0"):
        index.download(wheel(), tmp_path / "wheel")


def test_pip_settings() -> None:
    listing = (
        "global.index-url='http://one/simple'\n"
        "global.timeout='10'\n"
        "download.timeout='20'\n"
        "install.index-url='http://other/simple'\n"
        ":env:.extra-index-url='http://two/simple file:///three'\n"
        ":env:.default-timeout='30'\n"
    )
    assert index.pip_settings(listing) == {
        "index-url": "http://one/simple",
        "extra-index-url": "http://two/simple file:///three",
        "timeout": "30",
    }


def test_pips_own_configuration_is_honoured(monkeypatch: pytest.MonkeyPatch, fresh_index_configuration: None) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://127.0.0.1:9/more")
    assert index.index_configuration().urls == ("http://127.0.0.1:9/simple", "https://127.0.0.1:9/more")
    with pytest.raises(FailedError, match=r"can be reached: http://127.0.0.1:9/simple \(ConnectionError\)"):
        index.listed_releases()


@pytest.mark.triton
def test_the_lock_file_is_what_the_index_lists() -> None:
    listed = {release.version: release for release in index.listed_releases()}
    locked = index.locked_releases()
    assert [release.version for release in locked][:3] == ["2.0.0", "2.1.0", "2.2.0"]
    assert [listed[release.version] for release in locked] == locked
