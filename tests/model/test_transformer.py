"""The whole model: PyTorch's results, one shared matrix, exports, and what it refuses."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model import attention
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.id_checks import checked_ids
from annotated_transformer.model.masks import causal_mask, padding_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.transformer import Transformer

BATCH, SRC, TGT = 2, 7, 5
SMALL = TransformerConfig(
    vocab_size=23, max_length=11, num_layers=2, d_model=12, d_ff=17, num_heads=3, dropout=0.0
)
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture
def ids():
    rng = torch.Generator().manual_seed(0)
    return tuple(torch.randint(3, 23, (BATCH, tokens), generator=rng) for tokens in (SRC, TGT))


@pytest.fixture
def padded_ids(ids):
    """Return sources and targets; the second source and the first target end in padding."""
    src, tgt = (x.clone() for x in ids)
    src[1, 4:], tgt[0, 3:] = SMALL.pad_id, SMALL.pad_id
    return src, tgt


def their_stack(config, final):
    """Return PyTorch's encoder-decoder with the same sizes."""
    sizes = {"d_model": config.d_model, "nhead": config.num_heads, "dim_feedforward": config.d_ff}
    options = {"dropout": 0.0, "activation": config.activation, "batch_first": True}
    options["norm_first"] = config.norm == "pre"
    encoder_norm, decoder_norm = (nn.LayerNorm(config.d_model) if final else None for _ in range(2))
    layers = nn.TransformerEncoderLayer(**sizes, **options), nn.TransformerDecoderLayer(**sizes, **options)
    encoder = nn.TransformerEncoder(layers[0], config.num_layers, encoder_norm, enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(layers[1], config.num_layers, decoder_norm)
    return nn.Transformer(
        config.d_model, config.num_heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )


@pytest.mark.equation("eq-transformer", "eq-first-input")
@pytest.mark.parametrize(
    ("norm", "final_norm", "final"),
    [("post", None, False), ("post", True, True), ("pre", None, True), ("pre", False, False)],
)
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_oracle_logits_match_pytorchs_transformer_with_one_shared_embedding_matrix(
    randomized, copied, padded_ids, norm, final_norm, final, positions
):
    ours = randomized(Transformer(replace(SMALL, norm=norm, final_norm=final_norm, positions=positions)))
    theirs = their_stack(ours.config, final)
    copied(ours.encoder, theirs.encoder)
    copied(ours.decoder, theirs.decoder)
    matrix = ours.embedding.weight.detach()
    table = ours.positions.table.detach()
    src, tgt = padded_ids
    x, y = (F.embedding(ids, matrix) * math.sqrt(12) + table[: ids.size(1)] for ids in (src, tgt))
    hidden = theirs(
        x,
        y,
        tgt_mask=~causal_mask(TGT),
        src_key_padding_mask=src == 0,
        memory_key_padding_mask=src == 0,
        tgt_key_padding_mask=tgt == 0,
    )
    torch.testing.assert_close(ours(src, tgt), hidden @ matrix.T, **EXACT)
    assert ours.encode(src, padding_mask(src, 0)).shape == (BATCH, SRC, 12)


def test_law_an_output_bias_is_added_to_the_logits(randomized, padded_ids):
    model = randomized(Transformer(replace(SMALL, output_bias=True)))
    with_bias, bias = model(*padded_ids), model.output_bias.detach().clone()
    model.output_bias.data.zero_()
    torch.testing.assert_close(with_bias, model(*padded_ids) + bias, **EXACT)
    assert bias.abs().min() > 0


def test_law_an_output_matrix_of_its_own_gives_the_logits_and_embeds_nothing(randomized, ids):
    model = randomized(Transformer(replace(SMALL, tied_output=False)))
    hidden, logits = model.hidden(*ids), model(*ids)
    torch.testing.assert_close(logits, hidden @ model.output.weight.T, **EXACT)
    assert (logits - hidden @ model.embedding.weight.T).abs().max() > 0.1
    assert model.state_dict().keys() - Transformer(SMALL).state_dict().keys() == {"output.weight"}
    embedded, taught = torch.autograd.grad(
        logits[..., 7].sum(), [model.embedding.weight, model.output.weight]
    )
    assert embedded.abs().sum(1).nonzero().flatten().tolist() == torch.cat(ids, dim=1).unique().tolist()
    assert taught.abs().sum(1).nonzero().flatten().tolist() == [7]


def test_law_dropout_is_applied_exactly_where_the_paper_applies_it(ids):
    model = Transformer(replace(SMALL, dropout=0.5))
    calls = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            assert module.p == 0.5
            module.register_forward_hook(lambda module, inputs, out, name=name: calls.append(name))
        inside = isinstance(module, (MultiHeadAttention, FeedForward))
        assert not (inside and any(isinstance(part, nn.Dropout) for part in module.modules()))
    model(*ids)
    layers = range(SMALL.num_layers)
    encoder = [f"encoder.layers.{n}.add_norm_{i}.dropout" for n in layers for i in (1, 2)]
    decoder = [f"decoder.layers.{n}.add_norm_{i}.dropout" for n in layers for i in (1, 2, 3)]
    assert calls == ["dropout", *encoder, "dropout", *decoder]


def test_law_half_precision_and_autocast_stay_finite_under_masks(padded_ids):
    model = Transformer(SMALL)
    exact = model(*padded_ids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(*padded_ids)
        mixed.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    half = model.half()(*padded_ids)
    assert half.dtype == torch.float16
    for approximate in (mixed, half):
        torch.testing.assert_close(approximate.float(), exact, rtol=0.1, atol=0.2)


def test_law_empty_batches_and_empty_targets_give_empty_logits(ids):
    model, (src, tgt) = Transformer(SMALL), ids
    assert model(src[:0], tgt[:0]).shape == (0, TGT, 23)
    assert model(src, tgt[:, :0]).shape == (BATCH, 0, 23)


@pytest.mark.message  # not a message: runs without the shape checker, whose code cannot be exported
@pytest.mark.parametrize("attention", ["scaled_dot_product", "fused"])
def test_oracle_an_exported_model_computes_the_same_for_other_lengths(randomized, padded_ids, attention):
    model = randomized(Transformer(replace(SMALL, attention=attention, num_layers=1))).eval()
    axes = {0: torch.export.Dim("batch")}
    shapes = tuple(
        axes | {1: torch.export.Dim(name, max=SMALL.max_length)} for name in ("src_tokens", "tgt_tokens")
    )
    exported = torch.export.export(model, padded_ids, dynamic_shapes=shapes).module()
    rng = torch.Generator().manual_seed(1)
    for batch, src_tokens, tgt_tokens in ((BATCH, SRC, TGT), (3, 2, 11)):
        src, tgt = (torch.randint(1, 23, (batch, n), generator=rng) for n in (src_tokens, tgt_tokens))
        src[1, 1:] = SMALL.pad_id
        torch.testing.assert_close(exported(src, tgt), model(src, tgt), **EXACT)


@pytest.mark.message
def test_message_sources_that_are_empty_or_more_than_the_targets(ids):
    src, tgt = ids
    with pytest.raises(ValueError, match="2 sources but 1 targets; give one target for each source"):
        Transformer(SMALL)(src, tgt[:1])
    src[1] = SMALL.pad_id
    sentence = r"source 2 of 2 is empty: it holds .* padding \(pad_id=0\); end every source with eos_id=2"
    with pytest.raises(ValueError, match=sentence):
        Transformer(SMALL)(src, tgt)
    with pytest.raises(ValueError, match=r"source 1 of 2 is empty"):
        Transformer(SMALL)(src[:, :0], tgt)


@pytest.mark.message
@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        (torch.tensor([4, 5, 2]), ValueError, r"have shape \(3,\); give \(batch, tokens\): .* ids\[None\]"),
        (torch.ones(2, 3, 5, dtype=torch.long), ValueError, r"have shape \(2, 3, 5\); give \(batch"),
        (torch.ones(2, 5), TypeError, "have dtype torch.float32; give torch.int64"),
    ],
)
@pytest.mark.parametrize("place", ["source", "target"])
def test_message_ids_that_are_not_a_batch(ids, place, wrong, error, sentence):
    model, (src, tgt) = Transformer(SMALL), ids
    with pytest.raises(error, match=f"^{place} ids {sentence}"):
        model(wrong, tgt) if place == "source" else model(src, wrong)
    with pytest.raises(error, match=f"^token ids {sentence}"):
        model.encode(wrong)


@pytest.mark.message  # not a message: the shape checker reads values
def test_law_on_the_device_meta_a_model_computes_shapes(padded_ids):
    model, (src, tgt) = Transformer(SMALL).to("meta"), (ids.to("meta") for ids in padded_ids)
    assert model(src, tgt).shape == (BATCH, TGT, 23)


@pytest.mark.parametrize("how", ["assign", "assign half", "empty", "still on meta"])
def test_law_a_model_built_on_the_device_meta_gets_its_table_with_its_weights(padded_ids, how):
    model = Transformer(SMALL).eval()
    saved = model.half().state_dict() if how == "assign half" else model.state_dict()
    with torch.device("meta"):
        built = Transformer(SMALL).eval()
        if how == "still on meta":
            built.load_state_dict(saved, assign=True)
    if how == "empty":
        built.to_empty(device="cpu").load_state_dict(saved)
    else:
        built.load_state_dict(saved, assign=True)
    assert torch.equal(built(*padded_ids), model(*padded_ids))
    assert built(*padded_ids).dtype == model.embedding.weight.dtype
    assert "positions.table" not in built.state_dict()


@pytest.mark.message  # not a message: compiled as users do
@pytest.mark.usefixtures("fresh_compiler")
def test_law_a_compiled_model_computes_the_same_in_one_graph(randomized, padded_ids):
    model = randomized(Transformer(SMALL)).eval()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*padded_ids), model(*padded_ids), **EXACT)


@pytest.mark.message
def test_message_padding_before_a_token_is_named_by_its_place(padded_ids):
    model, (src, tgt) = Transformer(SMALL), padded_ids
    assert model(src, tgt).isfinite().all()
    for name, row, place in (("target", 0, 1), ("target", 1, 0), ("source", 0, 4)):
        wrong = {"source": src.clone(), "target": tgt.clone()}
        wrong[name][row, place] = SMALL.pad_id
        sentence = rf"{name} {row + 1} of 2 has padding \(pad_id=0\) as token {place + 1}, before another"
        with pytest.raises(ValueError, match=f"^{sentence}"):
            model(wrong["source"], wrong["target"])


@pytest.mark.message
def test_message_a_padded_batch_without_a_mask(padded_ids):
    model, (src, tgt) = Transformer(SMALL), padded_ids
    attended = r"^{} of 2 has padding \(pad_id=0\), and without a mask .*; give the mask {}\("
    with pytest.raises(ValueError, match=attended.format("source 2", "padding_mask")):
        model.encode(src)
    with pytest.raises(TypeError, match=r"^missing a required argument: 'src'$"):
        model.encode()
    memory = model.encode(src, padding_mask(src, 0))
    with pytest.raises(ValueError, match=attended.format("target 1", "decoder_mask")):
        model.decode(tgt, memory, memory_mask=padding_mask(src, 0))
    assert model.encode(src[:1]).isfinite().all()
    assert model.decode(tgt, memory, causal_mask(TGT)).isfinite().all()


@pytest.mark.message
def test_message_ids_are_checked_once_where_they_are_and_not_inside(ids, monkeypatch):
    """A check of values that a GPU would wait for reads them as numbers or truth values."""
    model, (src, tgt) = Transformer(SMALL), ids
    for wrong, sentence in (
        ((src, tgt[:1]), "2 sources but 1 targets"),
        ((src * 0, tgt), "source 1 of 2 is empty"),
        ((src, tgt + 99), "do not fit a vocabulary of 23"),
        ((src, tgt * 0 + torch.arange(TGT)), "has padding .* as token 1, before another"),
    ):
        with pytest.raises(ValueError, match=sentence):
            checked_ids(model, *wrong)
    expected, checked = model.eval()(src, tgt), checked_ids(model, src, tgt)
    with monkeypatch.context() as patch:
        for reading in ("__bool__", "__int__", "item", "tolist"):
            patch.setattr(torch.Tensor, reading, None)
        found = model(*checked)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    with pytest.raises(ValueError, match="do not fit a vocabulary"):  # as before
        model(src, tgt + 99)
    src.fill_(SMALL.vocab_size)
    with pytest.raises(ValueError, match="do not fit a vocabulary"):
        model(src, tgt)  # these tensors themselves are not marked


@pytest.mark.message
@pytest.mark.parametrize("name", ["attention_weights", "masked_softmax"])
def test_message_the_kernel_does_not_follow_an_edited_formula(monkeypatch, name: str):
    fused, formula = replace(SMALL, attention="fused"), getattr(attention, name)
    Transformer(fused)  # a warning would be an error
    monkeypatch.setattr(attention, name, lambda *inputs: 1.001 * formula(*inputs))
    Transformer(SMALL)
    with pytest.warns(UserWarning, match=r"^attention='fused' computes .* which was edited; leave it out"):
        Transformer(fused)
