"""Every number of a shipped model's translation of one sentence, under the names of the explorer's engine."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.heads import Kind
from annotated_transformer.model.inference import evaluating, first_tokens, hooking, suppress_tokens
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

DIRECTION = "en-de"
SENTENCE = "I hope that you can come tomorrow."  # as on the cover
LIKELIEST = 5
SPECIAL = {"<eos>": "end", "<bos>": "start"}
MODULES: dict[Kind, tuple[str, str]] = {  # stack and module of the three uses of attention
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}


class Frame(NamedTuple):
    """A sentence, its greedy translation, and the tensors between them: `frame.tensors[NAME]`.

    A name is that of a module with its kind, such as "decoder.layers.3.cross_attention.weights". Tensors of
    heads are heads × queries × keys, or heads × tokens × features (query, key, value); others, tokens ×
    features. A row of the decoder comes after `read` and predicts `target`.
    """

    sentence: str
    direction: str
    source: list[str]
    read: list[str]
    target: list[str]
    ids: list[int]
    text: str
    tensors: dict[str, Tensor]
    likeliest: list[list[tuple[int, str, float]]]  # ids, tokens and probabilities, for each step

    @property
    def layers(self) -> int:
        """The number of layers of each stack."""
        return 1 + max(int(name.split(".")[2]) for name in self.tensors if ".layers." in name)

    def sides(self, kind: Kind) -> tuple[list[str], list[str]]:
        """Return the words of keys and queries as readers see them; a decoder's query is what it writes."""
        source, target, read = (
            [plain(token, place) for place, token in enumerate(tokens)]
            for tokens in (self.source, self.target, self.read)
        )
        return {"encoder": (source, source), "decoder": (read, target), "cross": (source, target)}[kind]

    def weights(self, kind: Kind, layer: int, head: int | None = None) -> Tensor:
        """Return the attention weights of a head, or the mean of a layer's heads; both count from 0."""
        stack, module = MODULES[kind]
        heads = self.tensors[f"{stack}.layers.{layer}.{module}.weights"]
        return heads.mean(dim=0) if head is None else heads[head]


def continues(token: str, place: int) -> bool:
    """Return whether a token continues the word before it (ui/words.js)."""
    return place > 0 and (token[0].isalpha() or token[0].isnumeric())


def plain(token: str, place: int) -> str:
    """Return a token as readers see it: a plus marks one that continues the word before it (ui/words.js)."""
    return SPECIAL.get(token) or (f"+{token}" if continues(token, place) else token.strip() or "space")


@lru_cache(maxsize=4)
def model_frame(sentence: str = SENTENCE, direction: str = DIRECTION) -> Frame:
    """Translate a sentence by a shipped model, with the explorer's weights of 8 bits, and keep its numbers.

    Raises:
        ValueError: The sentence is empty, too long or not valid Unicode.
    """
    translator = explorer_translator(direction)
    model, tokenizer = translator.model, translator.tokenizer
    ids, shares, likeliest = likeliest_tokens(translator, sentence)
    src = translator.encode([sentence]).ids[0]
    read = [model.config.bos_id, *ids[:-1]]
    seen: dict[str, Tensor] = {}
    with evaluating(model), torch.no_grad(), ExitStack() as hooks:
        for name, module in model.named_modules():
            if isinstance(module, MultiHeadAttention):
                hooks.enter_context(hooking(module.attention.register_forward_hook, _heads(seen, name)))
            hooks.enter_context(hooking(module.register_forward_hook, _keeping(seen, name)))
        logits = model(torch.tensor([src]), torch.tensor([read]))[0]
        seen = {name: tensor for name, tensor in seen.items() if ".layers." in name}
        seen["logits"] = suppress_tokens(logits, model.config)
        for stack, side in (("encoder", src), ("decoder", read)):
            tokens = torch.tensor([side])
            embedding, embedded = model.embedding(tokens)[0], model.embed(tokens)[0]
            for name, value in (("embedding", embedding), ("embedded", embedded)):
                seen[f"{stack}.{name}"] = value
            seen[f"{stack}.positions"] = embedded - embedding
    names = tokenizer.tokens
    rows = [list(zip(row, names(row), own, strict=True)) for row, own in zip(likeliest, shares, strict=True)]
    return Frame(
        sentence, direction, names(src), names(read), names(ids), ids, tokenizer.decode([ids])[0], seen, rows
    )


def _keeping(seen: dict[str, Tensor], name: str) -> Callable[[nn.Module, object, object], None]:
    def keep(module: nn.Module, args: object, output: object) -> None:
        kind = f"{name}.output" if isinstance(module, MultiHeadAttention) else name
        if isinstance(output, Tensor):
            seen[kind.replace(".attention.", ".")] = output[0]

    return keep


def _heads(seen: dict[str, Tensor], name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
    def keep(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        query, key, value = args[:3]
        scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
        if len(args) > 3 and args[3] is not None:
            scores = scores.masked_fill(~args[3], -torch.inf)
        kinds = {"query": query, "key": key, "value": value, "scores": scores, "heads": output}
        seen.update({f"{name}.{kind}": tensor[0] for kind, tensor in kinds.items()})

    return keep


def likeliest_tokens(
    translator: Translator, sentence: str
) -> tuple[list[int], list[list[float]], list[list[int]]]:
    """Return the greedy translation's ids, and for each step the largest probabilities and their ids.

    Raises:
        ValueError: The sentence is empty, too long or not valid Unicode.
    """
    model = translator.model
    ids = translator.encode([sentence]).ids[0]
    if not ids:
        translator.translate([sentence])  # raises, with the reason
    src = torch.tensor([ids])
    tgt = greedy_search(model, src)
    read = torch.cat([first_tokens(src, model.config)[:, None], tgt[:, :-1]], dim=1)
    with evaluating(model), torch.no_grad():
        logits = suppress_tokens(model(src, read)[0], model.config)
    top = logits.softmax(dim=-1).topk(LIKELIEST)
    return tgt[0].tolist(), top.values.tolist(), top.indices.tolist()
