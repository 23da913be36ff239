"""A script for a bug report: the kernel, compiled by an installed Triton, with no GPU and nothing else needed."""

from __future__ import annotations

import pprint

from attnkern.cases import Formulation, case_named
from attnkern.codegen.compile import KERNEL, KERNEL_NAME
from attnkern.errors import UserError

TEMPLATE = '''\
# pip install triton=={release} setuptools    # no GPU and no torch are needed
import subprocess
import sys
import tempfile
from pathlib import Path

{kernel}

class Tensor:
    """What a JIT looks at of a tensor."""

    def __init__(self, name):
        self.dtype = type("dtype", (), {{"__str__": lambda self: "torch." + name}})()

    def data_ptr(self):
        return 0


class Driver:
    """Stands in for the driver of a GPU of that architecture."""

    launcher_cls = staticmethod(lambda *args, **kw: None)

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", {capability}, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        return "cuda:0"


arguments = {arguments}
constants = {constants}
options = {options}

if __name__ == "__main__":
    triton.runtime.driver.set_active(Driver())
    values = [Tensor(value[1:]) if isinstance(value, str) else value for value in arguments.values()]
    compiled = {name}.warmup(*values, grid={grid}, **constants, **options)
    metadata = compiled.metadata
    print("shared bytes:", metadata["shared"] if isinstance(metadata, dict) else metadata.shared)
    ptxas = next(Path(triton.__file__).parent.rglob("bin/ptxas"))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.ptx").write_text(compiled.asm["ptx"])
        report = subprocess.run(
            [ptxas, "-v", "--gpu-name={target}", "kernel.ptx"], cwd=folder, capture_output=True, text=True
        )
    sys.stdout.writelines(line + "\\n" for line in report.stderr.splitlines() if "bytes" in line)
'''


def reproducer(release: str, case_name: str, formulation: Formulation, target: str) -> str:
    """Raises UserError for a Triton before 3.0, whose driver can't be stood in for by a script this short."""
    if release.startswith("2."):
        raise UserError(f"no reproducer for Triton {release}: its JIT can't compile without a GPU by itself")
    case = case_named(case_name)
    return TEMPLATE.format(
        release=release,
        kernel=KERNEL.read_text().split('"""', 2)[2].strip(),
        capability=target.removeprefix("sm_"),
        arguments=pprint.pformat(case.arguments, sort_dicts=False, width=110),
        constants=case.constants(formulation),
        options=case.options,
        name=KERNEL_NAME,
        grid=case.grid,
        target=target,
    )
