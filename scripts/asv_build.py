"""asv's build step: leaves the commit's bundle as the only wheel in a folder. Usage: asv_build.py COMMIT FOLDER

Run by the benchmarking environment's Python; hands over to the one that has attnkern.
"""

import os
import sys
from pathlib import Path

python = os.environ.get("ATTNKERN_PYTHON")
if not python:
    sys.exit("asv_build.py is a step of `asv run`, which says where attnkern is; by hand use `attnkern bundle`")
os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
os.execv(python, [python, "-m", "attnkern", "asv-build", *sys.argv[1:]])
