"""The cases: problem shape, dtype and launch configuration under which the kernel is compiled and timed.

`seed` is triton-lang/triton issue 1806's own; the others are its neighbours, each one step away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from attnkern.errors import UserError

Formulation = Literal["direct", "transposed"]
FORMULATIONS: tuple[Formulation, ...] = get_args(Formulation)

# The names of the kernel's tensor arguments, in its order.
HALF_TENSORS = ("Q", "K", "V", "DO")
ROW_TENSORS = ("L", "M", "D")


@dataclass(frozen=True)
class Case:
    """One problem and one launch configuration.

    `dtype` is the type of Q, K, V, DO, DK and DV ("float16" or "bfloat16"); DQ is accumulated in
    float32, and the row statistics are float32.
    """

    name: str
    batch: int = 2
    heads: int = 16
    seq_len: int = 2048
    head_dim: int = 128
    dtype: str = "float16"
    block_m: int = 128
    block_n: int = 128
    num_warps: int = 8
    num_stages: int = 1
    max_registers: int | None = None
    """A cap for the assembler (Triton's launch option `maxnreg`, since 3.0); None leaves it to it."""

    @property
    def options(self) -> dict[str, int]:
        """The launch options, by Triton's names."""
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return options if self.max_registers is None else {**options, "maxnreg": self.max_registers}

    @property
    def grid(self) -> tuple[int, int, int]:
        """Programs along (batch, heads, blocks of keys)."""
        return (self.batch, self.heads, self.seq_len // self.block_n)

    @property
    def programs(self) -> int:
        x, y, z = self.grid
        return x * y * z

    @property
    def threads(self) -> int:
        """Threads of one program."""
        return 32 * self.num_warps

    @property
    def loop_trips(self) -> int:
        """Iterations of the kernel's only loop, the same in every program (no causal mask)."""
        return self.seq_len // self.block_m

    @property
    def flops(self) -> int:
        """Floating-point operations of a launch: five products of 2·S·S·D each, per batch and head."""
        return 5 * 2 * self.batch * self.heads * self.seq_len**2 * self.head_dim

    @property
    def arguments(self) -> dict[str, str | int | float]:
        """What the kernel is launched with, by name and in its order.

        A tensor is given by its type ("*float16", 16-byte aligned); the others by value. The
        softmax scale is issue 1806's; no compiler sees its value.
        """
        arguments: dict[str, str | int | float] = {}
        arguments.update(dict.fromkeys(HALF_TENSORS, f"*{self.dtype}"))
        arguments.update({"DQ": "*float32", "DK": f"*{self.dtype}", "DV": f"*{self.dtype}"})
        arguments.update(dict.fromkeys(ROW_TENSORS, "*float32"))
        arguments["softmax_scale"] = 1.1
        row = self.seq_len * self.head_dim
        for tensor, last in (
            ("q", "mk"),
            ("k", "nk"),
            ("v", "nk"),
            ("o", "mk"),
            ("dq", "mk"),
            ("dk", "nk"),
            ("dv", "nk"),
        ):
            arguments[f"stride_{tensor}z"] = self.heads * row
            arguments[f"stride_{tensor}h"] = row
            arguments[f"stride_{tensor}{last[0]}"] = self.head_dim
            arguments[f"stride_{tensor}{last[1]}"] = 1
        arguments.update({"stride_lz": self.heads * self.seq_len, "stride_lh": self.seq_len, "stride_lm": 1})
        arguments["seq_len"] = self.seq_len
        return arguments

    def constants(self, formulation: Formulation) -> dict[str, int | bool]:
        """The kernel's compile-time parameters."""
        return {
            "BLOCK_DMODEL": self.head_dim,
            "BLOCK_M": self.block_m,
            "BLOCK_N": self.block_n,
            "TRANSPOSED": formulation == "transposed",
        }


CASES: Mapping[str, Case] = {
    case.name: case
    for case in (
        Case("seed"),
        Case("tile-128x64", block_n=64),
        Case("tile-64x128", block_m=64),
        Case("tile-64x64", block_m=64, block_n=64),
        Case("tile-64x64-w4", block_m=64, block_n=64, num_warps=4),
        Case("d64", head_dim=64),
        Case("bf16", dtype="bfloat16"),
    )
}


CHANGES = {"m": "block_m", "n": "block_n", "w": "num_warps", "s": "num_stages", "r": "max_registers"}
"""What a name may change about a case: `seed+n64+w4+r255`."""


def case_named(name: str) -> Case:
    """The case of that name, or a neighbour of one; raises UserError with the names there are.

    `seed+m64+n64+w4+s2+r255` is the problem `seed` with other tiles, warps, stages and a cap on registers.
    """
    base, *changes = name.split("+")
    if base not in CASES:
        raise UserError(f"unknown case {base!r}: choose from {', '.join(CASES)}")
    fields: dict[str, Any] = {}
    for change in changes:
        match = re.fullmatch(r"([mnwsr])([1-9]\d{0,3})", change)
        if match is None or CHANGES[match[1]] in fields:
            raise UserError(f"{name!r}: no case is changed by {change!r}: write {base}+m64+n64+w4+s2+r255")
        fields[CHANGES[match[1]]] = int(match[2])
    case = replace(CASES[base], name=name, **fields)
    if any(case.seq_len % block or block & (block - 1) for block in (case.block_m, case.block_n)):
        raise UserError(f"{name!r}: tiles must be powers of 2 that divide the sequence of {case.seq_len}")
    return case
