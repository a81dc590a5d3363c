"""The steps of a reader's code in order, and the translation with trained weights at their end."""

from collections.abc import Iterator, Sequence

import torch

from annotated_transformer.book.exercises.verdict import Unmet
from annotated_transformer.book.from_scratch.code import Code, ReadersModule
from annotated_transformer.book.from_scratch.steps import STEPS, Draws, Step
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.positional_encoding import sinusoids
from annotated_transformer.text.batching import pad

SENTENCES = (
    "I hope that you can come tomorrow.",
    "The weather is nice today.",
    "He has a dog.",
    "We are learning German.",
    "She reads a book every week.",
)
AFTERWARDS = (
    "Your search computes the whole target again for each token: for n tokens, n (n + 1) / 2 of them, where "
    "the cache of chapter 18 computes n. Where to go on: chapter 19 looks inside these weights, chapter 21 "
    "counts what they cost, and chapter 22 replaces the parts."
)


def checked(code: Code, seed: int, steps: Sequence[Step] = STEPS) -> Iterator[tuple[Step, bool, str]]:
    """Yield each step, whether it is right, and what there is to say; after a wrong step, no other follows.

    The numbers of a step depend on the seed, and not on the steps before it.
    """
    for step in steps:
        try:
            said = step.check(code, Draws(1000 * seed + step.number))
        except Unmet as unmet:
            yield step, False, f"{unmet} Chapter {int(step.chapter[:2])} teaches it."
            return
        yield step, True, said


def translations(code: Code) -> Iterator[tuple[str, str, str]]:
    """Yield sentences, the reader's translations with the shipped weights, and the package's.

    Raises:
        Unmet: If the weights do not fit the reader's classes, or the ids differ.
    """
    translator = Translator.from_pretrained("en-de")
    ours = translator.model.double()
    ours.positions.table = sinusoids(256, 160)
    tensors = {name: weight.clone() for name, weight in ours.state_dict().items()}
    theirs = ReadersModule(code, "Transformer", 6000, 4, 160, 5, 512, 0.1, tensors=tensors)
    src = pad(translator.tokenizer.encode_source([*SENTENCES]))
    found = torch.as_tensor(code.request("call", "greedy_search", theirs.reference, src, 50))
    right = greedy_search(ours, src)
    for row, wanted, sentence in zip(found.tolist(), right.tolist(), SENTENCES, strict=True):
        own, other = (translator.tokenizer.decode([[id_ for id_ in ids if id_]])[0] for ids in (row, wanted))
        yield sentence, own, other
        if [id_ for id_ in row if id_] != [id_ for id_ in wanted if id_]:
            raise Unmet(
                f"with the trained weights, your search writes “{own}”; the package's writes “{other}”."
            )
