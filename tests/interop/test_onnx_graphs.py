"""The graphs compute what the model computes: here by PyTorch itself, which takes no export."""

import pytest
import torch

from annotated_transformer.interop.onnx_graphs import EncoderGraph, StepGraph
from annotated_transformer.text.batching import pad
from tests.interop.varied_models import KINDS, TEXTS, tokenizer, varied_model

pytestmark = pytest.mark.usefixtures("unchecked")
STEPS, SPACE = 11, 13


@pytest.mark.parametrize("kind", [*KINDS, "unequal heads"])
def test_oracle_each_kind_of_model_has_the_same_logits(kind: str):
    model = varied_model(**KINDS.get(kind, {"d_k": 4, "d_v": 7})).double()
    src, layers = pad(tokenizer().encode_source(TEXTS)), model.config.num_layers
    tgt = torch.randint(3, model.config.vocab_size, (len(src), STEPS))
    tgt[:, 0] = model.config.bos_id
    with torch.no_grad():
        memory_mask, *memory = EncoderGraph(model)(src)
        rows, heads = len(src), model.config.num_heads
        widths = [memory[0].size(-1), memory[layers].size(-1)]
        past = [torch.full((layers, rows, heads, SPACE, width), 1e3, dtype=torch.float64) for width in widths]
        past_mask, step = torch.full((SPACE,), -1e300, dtype=torch.float64), StepGraph(model)
        for position, tokens in enumerate(tgt.unbind(1)):
            caches = [*past[0], *past[1], *memory]
            logits, *new = step(tokens, torch.tensor(position), past_mask, memory_mask, caches)
            torch.testing.assert_close(
                logits, model(src, tgt[:, : position + 1])[:, -1], rtol=1e-11, atol=1e-10
            )
            for cache, own in zip(past, new, strict=True):
                cache[:, :, :, position : position + 1] = own
            past_mask[position] = 0
    assert logits.std(dim=0).min() > 1e-3  # the logits differ between rows
