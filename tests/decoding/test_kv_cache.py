"""Key-value caches: the results of decoding without a cache, with much less work."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.kv_cache import KeyValueCache, LayerCache, MakeDecoder, NoCache
from annotated_transformer.fast import linear
from annotated_transformer.fast.compilation import compile_stacks
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.fast.kv_cache_layer import BLOCK
from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.evaluation_mode import evaluating
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import BOS_ID

STEPS, WORDS = 19, 11  # more steps than FastKeyValueCache makes room for at once
KINDS = {
    "the paper's": {},
    "pre-norm": {"norm": "pre"},
    "learned positions": {"positions": "learned"},
    "fused attention": {"attention": "fused"},
    "other widths": {"d_k": 5, "d_v": 7},
    "all other options": {"attention_bias": True, "activation": "gelu", "norm": "pre", "attention": "fused"},
}
CACHES = [KeyValueCache, FastKeyValueCache]


def decode(decoder: MakeDecoder, model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """Return the logits at each step of decoding `tgt`."""
    with evaluating(model):
        targets = decoder(model, src)
        return torch.stack([targets.step(tokens) for tokens in tgt.unbind(1)], dim=1)


def some_targets(rows: int) -> Tensor:
    rng = torch.Generator().manual_seed(0)
    tgt = torch.randint(3, WORDS, (rows, STEPS), generator=rng)
    tgt[:, 0] = BOS_ID
    return tgt


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
def test_oracle_every_step_gives_what_one_pass_gives(
    stirred: Callable[..., Transformer], sources: list[list[int]], decoder: MakeDecoder, changes: dict
):
    model, src, tgt = stirred(**changes), pad(sources), some_targets(len(sources))
    found = decode(decoder, model, src, tgt)
    torch.testing.assert_close(found, model.eval()(src, tgt), rtol=0, atol=1e-10)
    assert found.std(dim=(0, 1)).min() > 1e-3  # no row and no step is like the others


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_oracle_large_products_are_the_same(
    stirred: Callable[..., Transformer],
    sources: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict,
):
    """In float32, `FastKeyValueCache` computes large products by oneDNN: here, all of them."""
    monkeypatch.setattr(linear, "LARGE", 0)
    model, src, tgt = stirred(**changes).float(), pad(sources), some_targets(len(sources))
    expected = decode(KeyValueCache, model, src, tgt)
    torch.testing.assert_close(decode(FastKeyValueCache, model, src, tgt), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("decoder", CACHES)
@pytest.mark.parametrize("longest", [BLOCK - 1, BLOCK, BLOCK + 1])
def test_oracle_sources_about_a_block_long(
    stirred: Callable[..., Transformer], decoder: MakeDecoder, longest: int
):
    model, tgt = stirred(), some_targets(2)
    src = pad([[4, 5, 6, 2], [7] * (longest - 1) + [2]])
    torch.testing.assert_close(decode(decoder, model, src, tgt), model.eval()(src, tgt), rtol=0, atol=1e-10)


@pytest.mark.parametrize("changes", [{}, {"attention_bias": True}])
def test_law_attention_to_a_source_of_padding_alone_is_zero(
    stirred: Callable[..., Transformer], changes: dict
):
    """The searches refuse it, but a decoder must not compute NaN from it."""
    model, tgt = stirred(**changes), some_targets(2)
    src = torch.tensor([[4, 5, 2], [0, 0, 0]])
    expected = decode(KeyValueCache, model, src, tgt)
    torch.testing.assert_close(decode(FastKeyValueCache, model, src, tgt), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("decoder", CACHES)
def test_law_a_repeated_token_has_its_own_position(stirred: Callable[..., Transformer], decoder: MakeDecoder):
    """If every step had position 0, the logits would be the same at each step."""
    model, src = stirred(), torch.tensor([[4, 2]])
    tgt = torch.full((1, STEPS), 5)
    found = decode(decoder, model, src, tgt)[0]
    assert (found[1:] - found[:-1]).abs().amax(dim=1).min() > 1e-4


@pytest.mark.parametrize("decoder", CACHES)
@pytest.mark.parametrize("rows", [[4, 3, 2, 1, 0], [1, 1, 1, 3, 3, 0, 4], [2], []])
def test_law_rows_can_be_reordered_repeated_and_omitted(
    stirred: Callable[..., Transformer], sources: list[list[int]], decoder: MakeDecoder, rows: list[int]
):
    model, src, tgt = stirred(), pad(sources), some_targets(len(sources))
    chosen = torch.tensor(rows, dtype=torch.long)
    with evaluating(model):
        targets = decoder(model, src)
        for tokens in tgt[:, :5].unbind(1):
            targets.step(tokens)
        targets.select(chosen)
        new = some_targets(7)[: len(rows), 5]
        found = targets.step(new)
    expected = model.eval()(src[chosen], torch.cat([tgt[chosen, :5], new[:, None]], dim=1))[:, -1]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    assert found.shape == (len(rows), WORDS)


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_law_greedy_search_finds_the_same_tokens_with_every_decoder(
    stirred: Callable[..., Transformer], sources: list[list[int]], changes: dict
):
    src, said = pad(sources), set()
    for seed in (19, 22, 25):
        model = stirred(seed, **changes)
        expected = greedy_search(model, src, decoder=NoCache)
        said |= set(expected.flatten().tolist())
        for decoder in CACHES:
            assert torch.equal(greedy_search(model, src, decoder=decoder), expected)
    assert len(said) > 2  # otherwise a decoder that repeats one token would pass


@pytest.mark.parametrize(("decoder", "tokens"), [(KeyValueCache, STEPS), (NoCache, STEPS * (STEPS + 1) // 2)])
def test_law_a_cache_decodes_each_token_once(
    stirred: Callable[..., Transformer], decoder: MakeDecoder, tokens: int
):
    model = stirred()
    counts = []
    for layer in model.decoder.layers:
        layer.feed_forward.register_forward_hook(lambda _, args, out: counts.append(out.size(1)))
    decode(decoder, model, torch.tensor([[4, 2]]), some_targets(1))
    assert sum(counts) == len(model.decoder.layers) * tokens


def test_law_a_cache_projects_the_memory_once(stirred: Callable[..., Transformer]):
    model = stirred()
    calls = []
    model.decoder.layers[1].cross_attention.to_key.register_forward_hook(lambda *_: calls.append(1))
    decode(KeyValueCache, model, torch.tensor([[4, 2]]), some_targets(1))
    assert len(calls) == 1


class Operations(TorchDispatchMode):
    """Count the calls of PyTorch's operations, without views."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += not func.is_view
        return func(*args, **(kwargs or {}))


def test_law_the_fast_cache_calls_at_most_half_of_the_operations(stirred: Callable[..., Transformer]):
    model, src = stirred(num_layers=3), torch.tensor([[4, 2]])
    counts = []
    for decoder in (FastKeyValueCache, KeyValueCache):
        with evaluating(model):
            targets = decoder(model, src)
            with Operations() as operations:
                targets.step(torch.tensor([5]))
        counts.append(operations.count)
    assert 0 < counts[0] <= counts[1] / 2


@pytest.mark.message
@pytest.mark.parametrize(
    "name", ["decoder.layers.1.self_attention.attention.weights", "positions", "dropout"]
)
@pytest.mark.parametrize("kind", ["forward", "forward_pre"])
def test_message_the_fast_cache_refuses_hooks_that_it_would_not_call(
    stirred: Callable[..., Transformer], name: str, kind: str
):
    model = stirred()
    hook = getattr(model.get_submodule(name), f"register_{kind}_hook")(lambda *_: None)
    with pytest.raises(ValueError, match=rf"^{name} has hooks, .* decode with KeyValueCache"):
        FastKeyValueCache(model, torch.tensor([[4, 2]]))
    hook.remove()
    FastKeyValueCache(model, torch.tensor([[4, 2]]))


@pytest.mark.message
def test_message_the_fast_cache_refuses_other_modules(stirred: Callable[..., Transformer]):
    class Blind(ScaledDotProductAttention):
        def forward(self, query, key, value, mask=None):
            return super().forward(query, key, value, mask) * 0

    model = stirred()
    model.decoder.layers[1].cross_attention.attention = Blind()
    expected = r"decoder\.layers\.1\.cross_attention\.attention is a Blind, .*; decode with KeyValueCache"
    with pytest.raises(ValueError, match=expected):
        FastKeyValueCache(model, torch.tensor([[4, 2]]))
    KeyValueCache(model, torch.tensor([[4, 2]]))  # the way out


@pytest.mark.parametrize("biased", ["to_query", "to_key", "to_value", "to_output"])
@pytest.mark.parametrize("attention", ["self_attention", "cross_attention"])
def test_oracle_a_bias_on_one_projection_alone(
    stirred: Callable[..., Transformer], sources: list[list[int]], attention: str, biased: str
):
    model, src, tgt = stirred(attention_bias=True), pad(sources), some_targets(len(sources))
    for name, module in model.decoder.named_modules():
        parent, _, last = name.rpartition(".")
        if last.startswith("to_") and not (last == biased and parent.endswith(attention)):
            module.bias = None
    expected = model.eval()(src, tgt)
    torch.testing.assert_close(decode(FastKeyValueCache, model, src, tgt), expected, rtol=0, atol=1e-10)


class Sharp(Transformer):
    """A model with logits of its own."""

    def logits(self, hidden: Tensor) -> Tensor:
        return 2 * super().logits(hidden)


class Shifted(Transformer):
    """A model with an embedding of its own."""

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        return super().embed(ids, start) + 1


def on_itself(path: str, method: str) -> Callable[[Transformer], None]:
    """Return a function that doubles the result of a method of one module."""

    def change(model: Transformer) -> None:
        module = model.get_submodule(path)
        plain = getattr(module, method)
        setattr(module, method, lambda *args, **kwargs: 2 * plain(*args, **kwargs))

    return change


def other_heads(model: Transformer) -> None:
    model.decoder.layers[1].cross_attention.num_heads = 2


def other_widths(model: Transformer) -> None:
    model.decoder.layers[1].cross_attention = MultiHeadAttention(12, 3, d_k=5, d_v=3).double()


def of_class(kind: type[Transformer]) -> Callable[[Transformer], None]:
    return lambda model: setattr(model, "__class__", kind)


def with_gelu(path: str) -> Callable[[Transformer], None]:
    return lambda model: model.set_submodule(path, torch.nn.GELU())


BYPASSED = {
    "logits in a subclass": (of_class(Sharp), r"model\.logits is overridden"),
    "embed in a subclass": (of_class(Shifted), r"model\.embed is overridden"),
    "logits": (on_itself("", "logits"), r"model\.logits is overridden"),
    "embed": (on_itself("", "embed"), r"model\.embed is overridden"),
    "logits of the embedding": (on_itself("embedding", "logits"), r"embedding\.logits is overridden"),
    "positions": (on_itself("positions", "forward"), r"positions\.forward is overridden"),
    "an attention": (
        on_itself("decoder.layers.1.cross_attention", "attend"),
        r"decoder\.layers\.1\.cross_attention\.attend is overridden",
    ),
    "other heads": (
        other_heads,
        r"decoder\.layers\.1\.cross_attention has num_heads, d_k, d_v = \(2, 6, 6\), .* needs \(3, 4, 4\)",
    ),
    "other widths": (
        other_widths,
        r"decoder\.layers\.1\.cross_attention has .* \(3, 5, 3\), .* needs \(3, 4, 4\)",
    ),
    "dropout": (with_gelu("dropout"), r"dropout is a GELU, and FastKeyValueCache cannot compute"),
    "weights": (
        with_gelu("decoder.layers.0.self_attention.attention.weights"),
        r"decoder\.layers\.0\.self_attention\.attention\.weights is a GELU",
    ),
}


@pytest.mark.message
@pytest.mark.parametrize(("change", "sentence"), BYPASSED.values(), ids=BYPASSED)
def test_message_the_fast_cache_refuses_a_model_that_computes_something_else(
    stirred: Callable[..., Transformer], change: Callable[[Transformer], None], sentence: str
):
    model, src, tgt = stirred(), torch.tensor([[4, 5, 2]]), some_targets(1)
    before = model.eval()(src, tgt)
    change(model)
    with pytest.raises(ValueError, match=rf"^{sentence}.*; decode with KeyValueCache, which calls"):
        FastKeyValueCache(model, src)
    expected = model(src, tgt)  # and the way out is one
    torch.testing.assert_close(decode(KeyValueCache, model, src, tgt), expected, rtol=0, atol=1e-10)
    assert (expected - before).abs().max() > 1e-6


WHOLE = {
    "decode": (on_itself("", "decode"), r"model\.decode is overridden"),
    "decoder": (on_itself("decoder", "forward"), r"decoder\.forward is overridden"),
    "a layer": (on_itself("decoder.layers.1", "forward"), r"decoder\.layers\.1\.forward is overridden"),
    "an attention": (
        on_itself("decoder.layers.0.self_attention", "forward"),
        r"decoder\.layers\.0\.self_attention\.forward is overridden",
    ),
    "hooks": (
        lambda model: model.decoder.layers[1].register_forward_hook(lambda module, args, out: 2 * out),
        r"decoder\.layers\.1 has hooks, and KeyValueCache would not call them; remove them, or",
    ),
}


@pytest.mark.message
@pytest.mark.parametrize("decoder", CACHES)
@pytest.mark.parametrize(("change", "sentence"), WHOLE.values(), ids=WHOLE)
def test_message_a_cache_refuses_a_decoder_that_was_changed_as_a_whole(
    stirred: Callable[..., Transformer], decoder: MakeDecoder, change: Callable[..., object], sentence: str
):
    model, src, tgt = stirred(), torch.tensor([[4, 5, 2]]), some_targets(1)
    before = model.eval()(src, tgt)
    change(model)
    with pytest.raises(ValueError, match=rf"^{sentence}.* decode with NoCache, which calls the whole"):
        decoder(model, src)
    expected = model(src, tgt)  # and the way out is one
    torch.testing.assert_close(decode(NoCache, model, src, tgt), expected, rtol=0, atol=1e-10)
    assert (expected - before).abs().max() > 1e-6


def test_law_a_compiled_model_is_decoded_by_the_caches(
    stirred: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
):
    """In evaluation mode, a compiled stack runs the plain one, so a cache need not call it."""
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr(torch, "compile", lambda plain, **options: None)  # it is not called
    model, src = stirred(), torch.tensor([[4, 5, 2]])
    expected = greedy_search(model, src)
    compile_stacks(model)
    for decoder in (*CACHES, NoCache):
        assert torch.equal(greedy_search(model, src, decoder=decoder), expected)


@pytest.mark.message
@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
@pytest.mark.parametrize(
    ("src", "error", "sentence"),
    [
        (torch.tensor([4, 2]), ValueError, r"source ids have shape \(2,\); give \(batch, tokens\)"),
        ([[4, 2]], TypeError, "source ids are of type list; give a tensor of torch.int64"),
        (torch.full((1, 29), 4), ValueError, "a sequence of 29 tokens is longer than the 23 positions"),
        (torch.tensor([[WORDS, 2]]), ValueError, "token ids 2 to 11 do not fit a vocabulary of 11"),
    ],
)
def test_message_a_decoder_refuses_other_sources(
    model: Transformer, decoder: MakeDecoder, src: object, error: type[Exception], sentence: str
):
    with pytest.raises(error, match=sentence):
        decoder(model, src)


@pytest.mark.message
@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ([5], r"tokens have shape \(1,\), and there are 2 targets; give one token for each"),
        ([[5], [6]], r"tokens have shape \(2, 1\), and there are 2 targets; give one token for each"),
        ([5, WORDS], "(tokens|token ids) 5 to 11 (are not all in the|do not fit a) vocabulary of 11"),
    ],
)
def test_message_a_decoder_refuses_other_tokens(
    model: Transformer, decoder: MakeDecoder, tokens: list, sentence: str
):
    with evaluating(model):
        targets = decoder(model, torch.tensor([[4, 2], [4, 2], [4, 2]]))
        targets.step(torch.tensor([5, 6, 7]))
        targets.select(torch.tensor([2, 0]))
        with pytest.raises(ValueError, match=sentence):
            targets.step(torch.tensor(tokens))


@pytest.mark.message
@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
def test_message_a_decoder_refuses_more_tokens_than_positions(model: Transformer, decoder: MakeDecoder):
    with evaluating(model):
        targets = decoder(model, torch.tensor([[4, 2]]))
        for _ in range(model.config.max_length):
            targets.step(torch.tensor([5]))
        with pytest.raises(
            ValueError, match="the targets have 23 tokens, and the model has 23 positions; end"
        ):
            targets.step(torch.tensor([5]))


@pytest.mark.equation("eq-cross-step")
def test_oracle_a_step_of_cross_attention_is_its_equation(
    stirred: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
):
    model, tgt = stirred().eval().double(), some_targets(1)[:, :3]
    attention = model.decoder.layers[0].cross_attention
    src = torch.tensor([[4, 5, 6, 2, 0]])
    z = model.encode(src, padding_mask(src, 0))[0, :4]  # without the padding
    seen: list[tuple[Tensor, Tensor]] = []
    project, attend = attention.project_query, attention.attend
    monkeypatch.setattr(attention, "project_query", lambda x: (seen.append((x, x)), project(x))[1])

    def attended(*inputs: Tensor) -> Tensor:
        out = attend(*inputs)
        seen[-1] = seen[-1][0], out
        return out

    monkeypatch.setattr(attention, "attend", attended)
    layer = LayerCache(model.decoder.layers[0], model.encode(src, padding_mask(src, 0)), padding_mask(src, 0))
    for position, token in enumerate(tgt[0]):
        layer.step(model.embed(token.reshape(1, 1), start=position))
    width = attention.to_key.out_features // attention.num_heads
    for x, found in seen:
        heads = []
        for i in range(attention.num_heads):
            block = slice(i * width, (i + 1) * width)
            key, value = (z @ part.weight[block].T for part in (attention.to_key, attention.to_value))
            query = x[0] @ attention.to_query.weight[block].T
            heads.append((query @ key.T / width**0.5).softmax(dim=1) @ value)
        wanted = torch.cat(heads, dim=1) @ attention.to_output.weight.T
        torch.testing.assert_close(found[0], wanted, rtol=0, atol=1e-12)
    assert len(seen) == 3
