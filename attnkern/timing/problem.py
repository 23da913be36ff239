"""A case's tensors on the GPU: inputs, outputs, and the reference that a result is checked against."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from attnkern.cases import Case
from attnkern.reference import Gradients, backward, relative_error


@dataclass
class Problem:
    """The kernel's arguments by name, in its order; `reference` is None where results can't be checked."""

    values: dict[str, torch.Tensor | float | int]
    reference: Gradients | None

    def reset(self, poison: bool = False) -> None:
        """Zero dq, which the kernel adds to; with `poison`, fill dk and dv with NaN, which it must overwrite."""
        self.tensor("DQ").zero_()
        if poison:
            self.tensor("DK").fill_(math.nan)
            self.tensor("DV").fill_(math.nan)

    def error(self) -> float | None:
        """The largest relative error among dq, dk and dv after one launch; NaN when one holds a NaN."""
        if self.reference is None:
            return None
        errors = [
            relative_error(self.tensor(name), getattr(self.reference, name.lower())) for name in ("DQ", "DK", "DV")
        ]
        return math.nan if any(math.isnan(error) for error in errors) else max(errors)

    def tensor(self, name: str) -> torch.Tensor:
        value = self.values[name]
        assert isinstance(value, torch.Tensor)
        return value


def make(case: Case, inputs: str, seed: int) -> Problem:
    """`inputs`: "normal" for well-conditioned ones, "issue" for issue 1806's, which overflow float16 in p."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    shape = (case.batch, case.heads, case.seq_len, case.head_dim)
    dtype = getattr(torch, case.dtype)
    draw = torch.randn if inputs == "normal" else torch.rand
    q, k, v, do = (draw(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype) for _ in range(4))
    rows = torch.ones(shape[:3], device="cuda", dtype=torch.float32)
    scale, reference, log_sum_exp, delta = 1.1, None, rows.clone(), rows.clone()
    if inputs == "normal":
        scale = 1 / math.sqrt(case.head_dim)
        reference = backward(q, k, v, do, scale)
        log_sum_exp, delta = reference.log_sum_exp.float(), reference.delta.float()
    tensors = {
        "Q": q, "K": k, "V": v, "DO": do,
        "DQ": torch.zeros(shape, device="cuda", dtype=torch.float32),
        "DK": torch.empty_like(k), "DV": torch.empty_like(v),
        "L": rows, "M": log_sum_exp, "D": delta,
    }  # fmt: skip
    values: dict[str, torch.Tensor | float | int] = {}
    for name, given in case.arguments.items():
        if name in tensors:
            values[name] = tensors[name]
        else:
            assert not isinstance(given, str)
            values[name] = scale if name == "softmax_scale" else given
    return Problem(values, reference)
