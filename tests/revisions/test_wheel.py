import os
import zipfile
from pathlib import Path

import pytest

from attnkern.errors import FailedError
from attnkern.revisions.wheel import unpack


def make_wheel(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name in (
            "triton/__init__.py",
            "triton/_C/libtriton.so",
            "triton/_C/libproton.so",
            "triton/backends/nvidia/bin/ptxas",
            "triton/backends/nvidia/bin/nvdisasm",
            "triton/backends/nvidia/lib/cupti/libcupti.so",
            "triton/backends/amd/compiler.py",
            "triton/backends/amd/lib/ockl.bc",
            "triton-3.3.0.dist-info/entry_points.txt",
        ):
            member = zipfile.ZipInfo(name)
            member.external_attr = (0o100755 if "/bin/" in name else 0o100644) << 16
            file.writestr(member, name * 100)
    return path


def test_only_what_compiling_needs(tmp_path: Path) -> None:
    unpack(make_wheel(tmp_path / "t.whl"), tmp_path / "triton")
    found = {str(path.relative_to(tmp_path / "triton")) for path in (tmp_path / "triton").rglob("*") if path.is_file()}
    assert found == {
        "triton/__init__.py",
        "triton/_C/libtriton.so",
        "triton/backends/nvidia/bin/ptxas",
        "triton/backends/amd/compiler.py",
        "triton-3.3.0.dist-info/entry_points.txt",
    }
    assert os.access(tmp_path / "triton/triton/backends/nvidia/bin/ptxas", os.X_OK)


@pytest.mark.parametrize("keep", [0, 10, 400])
def test_truncated_archive(tmp_path: Path, keep: int) -> None:
    path = make_wheel(tmp_path / "t.whl")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FailedError, match=r"t\.whl is damaged .*: try again"):
        unpack(path, tmp_path / "triton")
