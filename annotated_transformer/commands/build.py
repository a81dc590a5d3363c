"""`build`: its options, and `build_command`, which writes and checks a reader's own Transformer."""

import argparse
import math
import random
from pathlib import Path
from typing import Annotated

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.process import THREADS
from annotated_transformer.commands.output import Unfinished, print_line


class BuildOptions:
    """Your Transformer.

    Attributes:
        file: The Python file to write, or to check.
        check: Check the file instead of writing it: its steps in order, up to the first that is wrong.
        step: Check this step alone; `None` means all.
        start: Check from this step on.
        seed: What the numbers of the check are drawn from; `None` means a new one, which is printed.
        timeout: Seconds for each call of your code.
    """

    file: Annotated[Path, Option(flag="")]
    check: bool = False
    step: Annotated[int | None, Option(not_with=("start",))] = None
    start: int = 1
    seed: int | None = None
    timeout: float = 120.0


DESCRIPTION = (
    "Write a file in which you build a Transformer yourself, step by step, or check it. Your code runs in a "
    "process of its own, with your rights. The status is 0 if all steps that were checked are right."
)
EXAMPLES = ("my_transformer.py", "my_transformer.py --check", "my_transformer.py --check --step 3 --seed 7")
GROUPS = (Group(BuildOptions), THREADS)


def build_command(options: argparse.Namespace) -> None:
    """Write the file, which must be new, or check it."""
    from annotated_transformer.book.from_scratch.outline import OUTLINE

    if not options.check:
        try:
            with options.file.open("x", encoding="utf-8") as file:
                file.write(OUTLINE.format(name=options.file.name))
        except FileExistsError:
            raise ValueError(f"{options.file} is already there; add --check to check it") from None
        print_line(f"wrote {options.file}: 13 steps; write the first, then add --check to this command")
        return
    _check(options)


def _check(options: argparse.Namespace) -> None:
    from annotated_transformer.book.exercises.verdict import Unmet
    from annotated_transformer.book.from_scratch.checking import AFTERWARDS, checked, translations
    from annotated_transformer.book.from_scratch.code import Process
    from annotated_transformer.book.from_scratch.steps import STEPS

    if not options.file.is_file():
        raise ValueError(f"{options.file} is no file; give the one that this command wrote without --check")
    if not (options.timeout > 0 and math.isfinite(options.timeout)):
        raise ValueError(f"timeout={options.timeout:g} is not a time; give a number of seconds above 0")
    for name, number in {"step": options.step, "start": options.start}.items():
        if number is not None and not 1 <= number <= len(STEPS):
            raise ValueError(f"{name}={number} is no step; give 1 to {len(STEPS)}")
    seed = random.randrange(10**6) if options.seed is None else options.seed
    steps = STEPS[options.start - 1 :] if options.step is None else STEPS[options.step - 1 : options.step]
    print_line(f"seed {seed}")
    try:
        with Process(options.file, options.timeout) as code:
            for step, right, said in checked(code, seed, steps):
                print_line(f"{'✓' if right else '✗'} {step.number:2}  {step.title}: {said}")
            if printed := code.prints():
                print_line("The last lines that your file printed:")
                for line in printed:
                    print_line(f"  {line}")
            if not right:
                raise Unfinished(f"step {step.number} is not right yet")
            if steps[-1] is not STEPS[-1] or options.step:
                return
            for sentence, own, _ in translations(code):
                print_line(f"  {sentence} → {own}")
            print_line(f"✓ The trained weights translate in your Transformer. {AFTERWARDS}")
    except Unmet as unmet:
        raise Unfinished(str(unmet)) from unmet
