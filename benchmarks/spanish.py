"""Does a model of another pair of languages help if there are few pairs?

    python -m benchmarks.spanish

Models are trained from English to Spanish on 30 pairs of the guide's small grammar, for 150 updates: from
the shipped English–German model; from random weights, with everything else as in that model; and from random
weights, with a shape and settings for few pairs. The result has BLEU (beam 5) on 200 other pairs for each of
three seeds, from which the pairs are drawn, too.
"""

import dataclasses

import torch

from annotated_transformer import TINY, Tokenizer, TrainingConfig, Transformer, Translator, load, train
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.evaluation import sacrebleu_13a
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.toy.spanish import spanish_pairs
from annotated_transformer.training import encode_pairs
from benchmarks.quality import sides
from benchmarks.record import begin, write_result

PAIRS, TEST, SEEDS = 30, 200, (0, 1, 2)
TRAINING = TrainingConfig(steps=150, batch_tokens=1024, warmup_steps=50, max_lr=1e-3, fast=True)
WAYS = ("from `en-de`", "from random weights, otherwise as `en-de`", "a small model from random weights")


def begun(way: str, pairs: list[SentencePair]) -> tuple[Transformer, Tokenizer, TrainingConfig]:
    """Return a model, its tokenizer, and its settings, before it is trained in one of the three ways."""
    if way == WAYS[2]:
        tokenizer = Tokenizer.train([text for pair in pairs for text in pair], vocab_size=400)
        shape = dataclasses.replace(TINY, vocab_size=tokenizer.vocab_size, norm="pre", dropout=0.1)
        return Transformer(shape), tokenizer, dataclasses.replace(TRAINING, max_lr=3e-3)
    model, tokenizer = load(pretrained_folder("en-de"))
    return model if way == WAYS[0] else Transformer(model.config), tokenizer, TRAINING


def learned(way: str, pairs: list[SentencePair], *, seed: int) -> Translator:
    """Train in one of the three ways."""
    torch.manual_seed(seed)
    model, tokenizer, training = begun(way, pairs)
    train(model, encode_pairs(tokenizer, pairs), training, generator=torch.Generator().manual_seed(seed))
    return Translator(model, tokenizer)


def main() -> None:
    """Train, score, and write the result."""
    begin(__doc__)
    bleu: dict[str, list[float]] = {way: [] for way in WAYS}
    for seed in SEEDS:
        pairs = list(dict.fromkeys(spanish_pairs(2 * (PAIRS + TEST), seed=seed)))
        texts, references = sides(pairs[PAIRS : PAIRS + TEST])
        for way, scores in bleu.items():
            translator = learned(way, pairs[:PAIRS], seed=seed)
            hypotheses = translator.translate(texts, beam_size=5, split=False)
            scores.append(sacrebleu_13a(hypotheses, references).bleu)
            print(way, seed, scores[-1], flush=True)
    results = {"pairs": PAIRS, "test": TEST, "updates": TRAINING.steps, "bleu": bleu}
    write_result("spanish", results, seed=SEEDS[0])


if __name__ == "__main__":
    main()
