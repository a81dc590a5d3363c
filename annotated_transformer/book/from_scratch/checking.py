"""The steps of a reader's code in order, and the translation with trained weights at their end."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import randrange
from typing import Any

import torch

from annotated_transformer.book.exercises.verdict import Unmet, Verdict, judge
from annotated_transformer.book.from_scratch.code import EMPTY, Code, Here, Process, ReadersModule
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
    """Yield each step, whether it is right, and what there is to say; a wrong step is the last."""
    for step in steps:
        try:
            said = _said(code, seed, step)
        except Unmet as unmet:
            yield step, False, str(unmet)
            return
        yield step, True, said


def _said(code: Code, seed: int, step: Step) -> str:
    """Return what a step's check says; its numbers depend on the seed, and not on the steps before it.

    Raises:
        Unmet: If the step is not right yet.
    """
    try:
        return step.check(code, Draws(1000 * seed + step.number))
    except Unmet as unmet:
        end = "\n" if "\n" in str(unmet) else " "  # behind lines of code
        raise Unmet(f"{unmet}{end}Chapter {int(step.chapter[:2])} teaches it.") from unmet.__cause__


class Steps:
    """The checks of a notebook's own objects, which run in its process, without a limit of time."""

    def __init__(self, names: dict[str, Any], seed: int | None = None) -> None:
        """Take the notebook's `globals()`, and what the numbers are drawn from, if not anew."""
        self.names, self.seed, self.losses = names, seed, dict[str, list[float]]()

    def check(self, number: int) -> Verdict:
        """Judge a step; after the training loop's, `losses` has its curve, and that of the book's file."""
        code, seed = Here(self.names), randrange(10**6) if self.seed is None else self.seed
        verdict = judge(_said)(code, seed, STEPS[number - 1])
        self.losses = code.losses or self.losses
        untouched = EMPTY in verdict.message
        return Verdict(verdict.passed, verdict.message + ("" if untouched else f" (seed {seed})"))

    def translate(self) -> Verdict:
        """Load the trained weights into the notebook's `Transformer`, and let its search translate."""
        return judge(_translated)(Here(self.names))


def _translated(code: Code) -> str:
    lines = [f"  {sentence} → {own}" for sentence, own, _ in translations(code)]
    return "\n".join(["The trained weights translate in your Transformer:", *lines, AFTERWARDS])


def graded(path: Path, seconds: float, seed: int) -> Iterator[tuple[str, bool, str]]:
    """Yield the number of each step of a file, whether it is right, and what there is to say.

    A step is judged whether or not those before it are right. If all are, the translation follows.
    """
    rest, wrong = list(STEPS), 0
    while rest:
        try:
            with Process(path, seconds) as code:
                for step, right, said in checked(code, seed, rest):
                    yield str(step.number), right, said
                    rest, wrong = rest[1:], wrong + (not right)
                if not rest and not wrong:
                    yield "end", True, _translated(code)
        except Unmet as unmet:
            yield from ((str(step.number), False, str(unmet)) for step in rest)
            if not rest:
                yield "end", False, str(unmet)
            rest = []


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
