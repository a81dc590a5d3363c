"""`make elsewhere` moves rounding, forward and backward, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

PRODUCTS = """
import importlib.util, sys
importlib.util.find_spec("torch")  # as libraries look whether it is there
import torch
from torch.nn.functional import linear, scaled_dot_product_attention as attend

rng = torch.Generator().manual_seed(0)
draw = lambda *shape: torch.randn(2, 3, *shape, generator=rng, dtype=torch.float64).requires_grad_()
query, key, value, bias = draw(5, 7), draw(11, 7), draw(11, 13), draw(11)[0, 0]
mask = torch.rand(5, 11, generator=rng) < 0.7
fused = attend(query, key, value[..., :7], attn_mask=mask)
plain = linear(query @ key.mT, key[0, 0] @ key[0, 0].mT, bias) @ value
added = torch.baddbmm(plain[0], query[0] @ key[0].mT, value[0], beta=0.5)
loss = sum((out**2).mean() for out in (fused, plain, added))
results = [fused, plain, added, *torch.autograd.grad(loss, (query, key, value, bias))]
results += [query.new_zeros(5, 7) @ key[0, 0].mT, attend(*(torch.cat([x, x]) for x in (query, key, key)))]
torch.save([tensor.detach() for tensor in results], sys.argv[1])
"""


@pytest.mark.slow
def test_law_only_rounding_moves(tmp_path: Path):
    runs = []
    for noise in ("", "1", "2"):
        file = tmp_path / "results.pt"
        elsewhere = {"NOISE": noise, "PYTHONPATH": str(Path(__file__).parent)} if noise else {}
        process = subprocess.run(
            [sys.executable, "-c", PRODUCTS, file], env=os.environ | elsewhere, capture_output=True, text=True
        )
        assert (process.returncode, process.stderr) == (0, "")
        runs.append(torch.load(file))
    for a, b, c in zip(*runs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
        assert not a.any() or not (torch.equal(a, b) or torch.equal(b, c))
    for *_, zeros, doubled in runs:
        assert not zeros.any()
        assert torch.equal(*doubled.chunk(2))
