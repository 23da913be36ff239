import math

import pytest
import torch

from attnkern.reference import backward, relative_error


@pytest.mark.parametrize("scale", [1 / math.sqrt(32), 0.5])
def test_the_reference_is_the_gradient(scale: float) -> None:
    """Against autograd through torch's own softmax: an independent way to the same numbers."""
    torch.manual_seed(0)
    q, k, v, do = (torch.randn(2, 3, 64, 32, dtype=torch.float64) for _ in range(4))
    leaves = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
    scores = leaves[0] @ leaves[1].transpose(-1, -2) * scale
    out = torch.softmax(scores, dim=-1) @ leaves[2]
    out.backward(do)
    found = backward(q, k, v, do, scale)
    for name, leaf in zip(("dq", "dk", "dv"), leaves, strict=True):
        assert torch.allclose(getattr(found, name), leaf.grad, atol=1e-12)
    assert torch.allclose(found.log_sum_exp, torch.logsumexp(scores, dim=-1), atol=1e-12)
    assert torch.allclose(found.delta, (do * out).sum(-1), atol=1e-12)


def test_relative_error() -> None:
    reference = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert relative_error(torch.tensor([3.0, 4.5]), reference) == pytest.approx(0.1)
    assert math.isnan(relative_error(torch.tensor([3.0, math.nan]), reference))
