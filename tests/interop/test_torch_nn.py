"""Models of PyTorch's own class: the same outputs and gradients, and what cannot be carried over."""

import functools
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.interop.torch_nn import from_torch, to_torch, torch_masks
from annotated_transformer.interop.torch_weights import parameter_pairs
from annotated_transformer.model.transformer import Transformer
from tests.interop.varied_models import stirred

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")  # PyTorch's, of its defaults

BATCH, SRC, TGT = 2, 7, 5
SMALL = TransformerConfig(
    vocab_size=23, max_length=11, num_layers=2, d_model=12, d_ff=17, num_heads=3, dropout=0.0
)
EXACT = {"rtol": 1e-11, "atol": 1e-11}
KINDS = {
    "the paper's": {},
    "post-norm with a final norm": {"final_norm": True, "attention_bias": True, "activation": "gelu"},
    "pre-norm": {"norm": "pre", "activation": "swish", "positions": "learned"},
    "pre-norm without a final norm": {"norm": "pre", "final_norm": False, "output_bias": True},
}


@pytest.fixture
def ids() -> tuple[Tensor, Tensor]:
    """Return sources and targets; the second source and the first target end in padding."""
    rng = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(3, 23, (BATCH, tokens), generator=rng) for tokens in (SRC, TGT))
    src[1, 4:], tgt[0, 3:] = 0, 0
    return src, tgt


def compare(ours: Transformer, theirs: nn.Transformer, src: Tensor, tgt: Tensor) -> None:
    """Compare logits, and the gradients of all weights of encoder and decoder."""
    hidden = theirs(ours.embed(src), ours.embed(tgt), **torch_masks(src, tgt))
    rng = torch.Generator().manual_seed(1)
    weights = torch.randn(BATCH, TGT, 23, generator=rng, dtype=torch.float64) * (tgt != 0)[..., None]
    theirs.zero_grad()
    (ours.logits(hidden) * weights).sum().backward()
    of_embedding = ours.embedding.weight.grad.clone()
    ours.zero_grad()
    logits = ours(src, tgt)
    (logits * weights).sum().backward()
    torch.testing.assert_close(ours.logits(hidden)[tgt != 0], logits[tgt != 0], **EXACT)
    torch.testing.assert_close(of_embedding, ours.embedding.weight.grad, **EXACT)
    compared = 0
    for their_parameter, our_parameters in parameter_pairs(ours, theirs):
        gradients = [parameter.grad for parameter in our_parameters if parameter is not None]
        if gradients and their_parameter is not None:
            torch.testing.assert_close(their_parameter.grad, torch.cat(gradients), **EXACT)
            assert their_parameter.grad.abs().max() > 1e-9
            compared += their_parameter.numel()
    both = (*ours.encoder.parameters(), *ours.decoder.parameters()), theirs.parameters()
    assert compared == min(sum(x.numel() for x in parameters) for parameters in both)


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_oracle_outputs_and_gradients_are_those_of_pytorch(ids, changes):
    ours = stirred(Transformer(replace(SMALL, **changes)))
    compare(ours, to_torch(ours), *ids)


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_law_a_round_trip_restores_every_weight(changes):
    ours = stirred(Transformer(replace(SMALL, **changes))).eval()
    output = nn.Linear(12, 23, bias=ours.config.output_bias).double()
    output.weight = ours.embedding.weight
    if ours.config.output_bias:
        output.bias = ours.output_bias
    positions = ours.positions.table if ours.config.positions == "learned" else None
    back = from_torch(
        to_torch(ours), ours.embedding.weight, output=output, positions=positions, max_length=11
    )
    assert back.config == ours.config
    assert not back.training
    state = back.state_dict()
    assert state.keys() == ours.state_dict().keys()
    assert all(torch.equal(state[name], tensor) for name, tensor in ours.state_dict().items())


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_oracle_a_module_as_pytorch_builds_it(ids, norm_first: bool, bias: bool):
    options = {"activation": F.silu, "norm_first": norm_first, "bias": bias, "dropout": 0.0}
    theirs = nn.Transformer(12, 3, 2, 2, 17, batch_first=True, **options)
    ours = from_torch(stirred(theirs), stirred(nn.Embedding(23, 12), seed=3))
    compare(ours, theirs, *ids)
    assert ours.config.has_final_norm
    assert ours.config.attention_bias == bias
    loaded = from_torch(theirs, ours.embedding.weight).state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in ours.state_dict().items())


def test_law_zero_biases_of_attention_are_left_out_unless_asked_for():
    theirs, embedding = nn.Transformer(12, 3, 1, 1, 17), nn.Embedding(23, 12)
    assert not from_torch(theirs, embedding).config.attention_bias
    asked = from_torch(theirs, embedding, attention_bias=True)
    assert asked.encoder.layers[0].self_attention.to_query.bias.tolist() == [0.0] * 12
    nn.init.ones_(theirs.decoder.layers[0].multihead_attn.out_proj.bias)
    assert from_torch(theirs, embedding).config.attention_bias


def test_law_dropout_is_where_ours_is(ids):
    ours = Transformer(replace(SMALL, dropout=0.3))
    theirs = to_torch(ours)
    layer = theirs.decoder.layers[1]
    assert (layer.dropout.p, layer.self_attn.dropout, layer.multihead_attn.dropout) == (0, 0, 0)
    assert (layer.dropout1.p, layer.dropout2.p, layer.dropout3.p) == (0.3, 0.3, 0.3)
    assert from_torch(theirs, ours.embedding.weight).config.dropout == 0.3
    assert theirs.training
    assert not to_torch(ours.eval()).training


class Own(nn.TransformerEncoderLayer):
    """A layer that somebody changed."""


FIRST, LAST = "encoder.layers.0", "decoder.layers.1"
REFUSED = {  # a part of the module, what replaces it, and the message
    "eps": ("encoder.layers.1.norm2", nn.LayerNorm(12, eps=1e-6), r"\.norm2 has eps=1e-06 and not 1e-05"),
    "own layer": (FIRST, Own(12, 3, 17), r"encoder\.layers\.0 is of type Own"),
    "own forward": (f"{LAST}.forward", print, r"decoder\.layers\.1 overrides forward"),
    "activation": (f"{FIRST}.activation", nn.GELU("tanh"), r"the activation GELU\(approximate='tanh'\)"),
    "two activations": (f"{LAST}.activation", F.gelu, r"activation='gelu'"),
    "function": (f"{FIRST}.activation", functools.partial(F.elu), "has the activation .*elu"),
    "widths": (
        f"{LAST}.multihead_attn",
        nn.MultiheadAttention(12, 3, kdim=5, vdim=7),
        r"has in_proj_weight=None and not \(36, 12\)",
    ),
    "dropout": (f"{LAST}.dropout2", nn.Dropout(0.5), r"dropout2 has p=0\.5, which "),
    "layers": ("decoder.layers", nn.ModuleList(), r"decoder\.layers\.0 is missing"),
    "sizes": (f"{LAST}.linear1", nn.Linear(12, 19), r"linear1 has weight=\(19, 12\) and not \(17, 12\)"),
    "another part": (f"{FIRST}.adapter", nn.Linear(12, 12), r"adapter is torch\.nn\.modules\.linear\.Linear"),
}


@pytest.mark.message
@pytest.mark.parametrize(("name", "part", "message"), REFUSED.values(), ids=REFUSED)
def test_message_a_part_that_cannot_be_carried_over(name, part, message):
    module = nn.Transformer(12, 3, 2, 2, 17)
    place, _, last = name.rpartition(".")
    parent = module.get_submodule(place)
    parent.__dict__.pop(last, None)
    setattr(parent, last, part)
    with pytest.raises(ValueError, match=f"{message}.*cannot be carried over"):
        from_torch(module, nn.Embedding(23, 12))


@pytest.mark.message
def test_message_of_what_is_around_the_module():
    module, embedding = nn.Transformer(12, 3, 1, 1, 17), nn.Embedding(23, 12)
    for matrix, options, words in (
        (nn.Embedding(23, 13), {}, r"shape of the embedding is \(23, 13\), .*d_model=12; .* 12 columns"),
        (embedding, {"positions": torch.zeros(11, 1)}, r"of positions is \(11, 1\), .*d_model=12; .* 12 col"),
        (
            embedding,
            {"output": nn.Linear(12, 23)},
            r"output\.weight differs .* one matrix for both .* tra",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            from_torch(module, matrix, **options)
    nn.init.ones_(module.encoder.layers[0].self_attn.in_proj_bias)
    with pytest.raises(ValueError, match=r"attention_bias=False would lose biases .* leave it out"):
        from_torch(module, embedding, attention_bias=False)
    module.decoder.register_forward_hook(print)
    with pytest.raises(ValueError, match=r"^decoder has hooks, which cannot be carried over; remove them$"):
        from_torch(module, embedding)
