"""Compiled models: the results of plain ones, the same parameter names, and working hooks."""

import copy

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.inspection.heads import ablate_head, attention_maps
from annotated_transformer.inspection.health import Health
from annotated_transformer.inspection.observation import observe
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches
from tests.checkpointing.small_models import make_tokenizer, same

pytestmark = [
    pytest.mark.filterwarnings("ignore:The .grad attribute"),  # accessed by PyTorch's own tracing
    pytest.mark.message,  # not messages: without the shape checker, whose code cannot be captured
]
EAGER = {"backend": "eager"}  # captures and guards like the others, and needs no compiler


def wrapped(model: Transformer) -> nn.Module:
    return torch.compile(model, **EAGER)


def in_place(model: Transformer) -> nn.Module:
    model.compile(**EAGER)
    return model


def by_parts(model: Transformer) -> nn.Module:
    model.encoder.layers[0] = torch.compile(model.encoder.layers[0], **EAGER)
    model.decoder = torch.compile(model.decoder, **EAGER)
    model.decoder.layers[0].add_norm_1 = torch.compile(model.decoder.layers[0].add_norm_1, **EAGER)
    return model


@pytest.mark.parametrize("way", [wrapped, in_place, by_parts])
def test_law_a_compiled_model_is_saved_translates_and_is_inspected_like_a_plain_one(
    make_model, tmp_path, copy_pairs, way
):
    plain, tokenizer = make_model(vocab_size=263, max_length=11).eval(), make_tokenizer()
    batch, *_ = make_batches(copy_pairs(5), batch_tokens=53)
    inputs = batch.src, batch.decoder_input
    model = way(copy.deepcopy(plain))
    model(*inputs)  # compiled before any hook

    @torch.no_grad()
    def results(model: Transformer) -> list[Tensor]:
        with Health(model) as health:
            model(*inputs)
        with ablate_head(model, "cross", 0, 1):
            ablated = model(*inputs)
        decoders = (NoCache, KeyValueCache, FastKeyValueCache)
        return [
            *(greedy_search(model, batch.src, decoder=decoder) for decoder in decoders),
            beam_search(model, batch.src).log_probs,
            Translator(model, tokenizer).explain(["A man"])[0].attention,
            observe(model, batch.src, batch.labels).attention,
            torch.tensor([health.encoder_cosine, health.cross_attention_entropy]),
            *attention_maps(model, batch).values(),
            ablated,
        ]

    torch.testing.assert_close(results(model), results(plain), rtol=0, atol=0)
    checkpoint.save(tmp_path, model, tokenizer)
    assert same(checkpoint.load(tmp_path)[0], plain)
