"""asv's install step: the bundle, the costs beside it, and torch only where there is a GPU to time on.

Usage: asv_install.py WHEEL
"""

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

# What timing needs; several GB, so never where nothing can be timed.
TIMING = ["torch==2.13.0", "cuda-bindings>=12.9", "cuda-core>=1.0", "nvidia-ml-py", "numpy", "scipy"]


def main(wheel: Path) -> None:
    pip("--no-deps", "--no-index", "--force-reinstall", str(wheel))
    package = Path(sysconfig.get_path("purelib")) / "attnkern_bundle"
    shutil.copy(wheel.with_name("costs.json"), package / "costs.json")
    if gpus() and importlib.util.find_spec("torch") is None:
        pip(*TIMING)


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *arguments], check=True)


def gpus() -> int:
    """How many GPUs the driver shows; 0 where there is no driver."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    return count.value if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
