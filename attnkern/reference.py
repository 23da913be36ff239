"""Attention backward in float64, against which every artifact is checked before it is timed; and the error measure."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Gradients:
    """dq, dk, dv (batch, heads, seq_len, head_dim), and what the kernel is given of the rows, without the last."""

    dq: torch.Tensor
    dk: torch.Tensor
    dv: torch.Tensor
    log_sum_exp: torch.Tensor
    delta: torch.Tensor


def backward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor, scale: float) -> Gradients:
    """Gradients of softmax(q kᵀ · scale) v by the chain rule (Dao et al. 2022, appendix B.2), all in float64.

    The inputs are (batch, heads, seq_len, head_dim) of any float type; a head at a time, so that the
    scores of seq_len² take 34 MB and not a gigabyte.
    """
    parts = []
    heads = [tensor.flatten(0, 1).double() for tensor in (q, k, v, do)]
    for q_head, k_head, v_head, do_head in zip(*heads, strict=True):
        parts.append(one_head(q_head, k_head, v_head, do_head, scale))
    shape = q.shape[:2]
    stacked = [torch.stack(part).unflatten(0, shape) for part in zip(*parts, strict=True)]
    return Gradients(*stacked)


def one_head(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    scores = q @ k.T * scale
    log_sum_exp = torch.logsumexp(scores, dim=-1)
    p = torch.exp(scores - log_sum_exp[:, None])
    delta = (do * (p @ v)).sum(-1)
    ds = p * (do @ v.T - delta[:, None]) * scale
    return ds @ k, ds.T @ q, p.T @ do, log_sum_exp, delta


def relative_error(result: torch.Tensor, reference: torch.Tensor) -> float:
    """‖result − reference‖ / ‖reference‖; NaN where the result holds one."""
    return float((result.double() - reference).norm() / reference.norm())


TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2}
"""The largest relative error of a right result. 16-bit p and ds are rounded once each: half a unit in the last
place is 2⁻¹¹ = 4.9e-4 for float16 and 2⁻⁸ = 3.9e-3 for bfloat16; four of those are allowed. Measured: 2e-4 to 3e-4 in
float16."""
