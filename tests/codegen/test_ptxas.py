import os
import subprocess
from pathlib import Path

import pytest

from attnkern.codegen.ptxas import install_wrappers, options_of, read_report, versions

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    15168 bytes stack frame, 28584 bytes spill stores, 28924 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 15168 bytes cumulative stack size, 624 bytes cmem[0]
attnkern-argument: ptxas
attnkern-argument: -lineinfo
attnkern-argument: -v
attnkern-argument: --gpu-name=sm_80
attnkern-argument: /somewhere/in.ptx
attnkern-argument: -o
attnkern-argument: /somewhere/out.cubin
"""


def test_read_report() -> None:
    report = read_report(LOG, {"ptxas": "12.1.105"})
    assert (report.registers, report.stack_bytes) == (32, 15168)
    assert (report.spill_store_bytes, report.spill_load_bytes) == (28584, 28924)
    assert report.options == ("-lineinfo", "-v", "--gpu-name=sm_80")
    assert report.version == "ptxas 12.1.105"


@pytest.mark.parametrize("log", ["", "ptxas fatal   : Value 'sm_120' is not defined", LOG.partition("Used")[0]])
def test_a_report_of_no_kernel(log: str) -> None:
    with pytest.raises(ValueError, match="no figures"):
        read_report(log, {})


def test_options_without_files() -> None:
    assert options_of(["-v", "/a b/x.ptx", "-o", "relative", "-O3"]) == ("-v", "-O3")


def fake_triton(folder: Path) -> Path:
    binary = folder / "a triton" / "triton" / "backends" / "nvidia" / "bin" / "ptxas-blackwell"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "Cuda compilation tools, release 12.8, V12.8.93"; exit 0; }\n'
        'echo "said on stderr" >&2\nexit 7\n'
    )
    os.chmod(binary, 0o755)
    return folder / "a triton"


def test_wrapper_passes_through_and_keeps_the_report(tmp_path: Path) -> None:
    triton = fake_triton(tmp_path)
    (tmp_path / "w").mkdir()
    variables = install_wrappers(triton, tmp_path / "w")
    assert list(variables) == ["TRITON_PTXAS_BLACKWELL_PATH"]
    wrapper = variables["TRITON_PTXAS_BLACKWELL_PATH"]
    log = tmp_path / "log"
    answer = subprocess.run(
        [wrapper, "-v", "two words"],
        env={**os.environ, "ATTNKERN_PTXAS_LOG": str(log)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (7, "said on stderr\n")
    assert log.read_text().splitlines() == [
        "said on stderr",
        "attnkern-argument: ptxas-blackwell",
        "attnkern-argument: -v",
        "attnkern-argument: two words",
    ]
    assert "V12.8.93" in subprocess.run([wrapper, "--version"], capture_output=True, text=True, check=True).stdout
    assert versions(triton) == {"ptxas-blackwell": "12.8.93"}
