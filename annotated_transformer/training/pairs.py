"""The pairs to train on: those of each epoch, and which pairs do not fit a model: the chapter on training."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.trainable import AnyModel, is_transformer
from annotated_transformer.text.batching import Pair, check_encoded, encode_pairs
from annotated_transformer.text.bpe_dropout import BPEDropout
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.lines import REPORTED, list_problems
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import Tokenizer

NOTABLE = 0.01  # a share of pairs, since short sentences may occur twice in any corpus


@refuses_other_kinds
def check_fit(model: AnyModel, pairs: list[Pair], *, kind: str = "pair") -> None:
    """Refuse pairs that would fail later, in the middle of an epoch.

    Those of a model other than `Transformer` may have no source, and targets that are not sentences.
    """
    positions, of_tokens = model.config.max_length, getattr(model, "batch_type", None) is None
    if not pairs:
        raise ValueError(f"there are no {kind}s; give one or more")
    for row, (src, tgt) in enumerate(pairs, start=1):
        name = f"{kind} {row}"
        check_encoded(src, tgt, name)
        if max(len(src), len(tgt) - 1) > positions:
            raise ValueError(
                f"{name} has {len(src)} source and {len(tgt)} target tokens, and the model "
                f"{positions} positions; drop the pair, or build the model with a larger max_length"
            )
        if of_tokens and len(tgt) < 2:
            raise ValueError(
                f"{name} has 1 target token; give two or more, of which all but one are predicted"
            )
        if not src and (is_transformer(model) or not of_tokens):
            raise ValueError(f"{name} has no source to predict its target from; give one token or more")
        bos_id, eos_id, pad_id = model.config.bos_id, model.config.eos_id, model.config.pad_id
        if is_transformer(model) and (tgt[0] != bos_id or tgt[-1] != eos_id):
            raise ValueError(
                f"the target of {name} has ids from {tgt[0]} to {tgt[-1]}, and the model's targets "
                f"begin with bos_id={bos_id} and end with eos_id={eos_id}; build the model with your "
                f"tokenizer's ids"
            )
        ids = src + tgt if of_tokens else src  # a class is no id
        if pad_id in ids:
            raise ValueError(
                f"{name} holds {pad_id}, the model's pad_id, which it would ignore; leave padding to "
                f"make_batches"
            )
        lowest, highest = min(ids), max(ids)
        if lowest < 0 or highest >= model.config.vocab_size:
            raise ValueError(
                f"{name} holds the id {lowest if lowest < 0 else highest}, and the model has "
                f"vocab_size={model.config.vocab_size}; build the model with vocab_size=tokenizer.vocab_size"
            )


def overlap_warning(training: Iterable[Hashable], validation: Sequence[Hashable]) -> str | None:
    """Return a warning if at least `NOTABLE` of the validation pairs are training pairs."""
    known = set(training)
    both = sum(pair in known for pair in validation)
    if both == 0 or both < NOTABLE * len(validation):
        return None
    return (
        f"{both} of {len(validation)} validation pairs ({both / len(validation):.0%}) are training pairs: "
        f"the validation loss, and what is chosen by it (keep='best', patience), says too little about new "
        f"sentences; remove these pairs from one of the two"
    )


def refuse_long_pairs(corpus: Corpus, tokenizer: Tokenizer, *, positions: int, batch_tokens: int) -> None:
    """Refuse pairs that are too long for the model or for a batch, all of them in one report."""
    problems = []
    for texts in (corpus.splits["train"], corpus.splits.get(corpus.validation or "", [])):
        for pair, (src, tgt) in zip(texts, encode_pairs(tokenizer, texts), strict=True):
            if max(len(src), len(tgt) - 1) > positions or max(len(src), len(tgt)) > batch_tokens:
                problems.append((pair, f" has {len(src)} source and {len(tgt)} target tokens"))
    if problems:
        way_out = (
            f"the model has max_length={positions!r}, and a batch has batch_tokens={batch_tokens!r}: "
            "shorten or remove these sentences, or give more of both"
        )
        lines = [
            f"{corpus.locate(pair) if number < REPORTED else ''}{sizes}"
            for number, (pair, sizes) in enumerate(problems)
        ]
        raise ValueError(list_problems(lines, way_out))


def training_pairs(
    texts: list[SentencePair],
    tokenizer: Tokenizer,
    *,
    bidirectional: int,
    bpe_dropout: float,
    longest: int,
    seed: int,
) -> Callable[[int], list[Pair]]:
    """Return the pairs to train on, as a function of the epoch.

    `bidirectional` and `bpe_dropout` are those of a `Recipe`, and `longest` is that of `BPEDropout`.
    """
    reverse = [(target, source) for source, target in texts] if bidirectional else []
    if bpe_dropout:
        one_way, both_ways = (
            BPEDropout(tokenizer, pairs, p=bpe_dropout, seed=seed, longest=longest)
            for pairs in (texts, texts + reverse)
        )
        return lambda epoch: (both_ways if epoch < bidirectional else one_way)(epoch)
    plain = encode_pairs(tokenizer, texts)
    plain_both = plain + encode_pairs(tokenizer, reverse)
    return lambda epoch: plain_both if epoch < bidirectional else plain
