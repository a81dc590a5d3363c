"""Claims: one line with what was measured and what the book says, which fails if the two disagree."""

import math
import re
from collections.abc import Sequence
from typing import Any

from IPython.display import display
from torch import Tensor

from annotated_transformer.book.cells.check import entries, other_example, refute
from annotated_transformer.book.cells.tally import count_result
from annotated_transformer.book.output import CellOutput, must_hold

NOISE = 1e-9  # below this a number is rounding error, and its digits differ between machines
TOLERANCE = 1e-4  # a difference claimed to be below this or less is rounding error, too
SAME = 1e-3  # relative: two processors give the same value, unless it moves


def claim(
    what: str,
    value: Any,
    *,
    below: float | None = None,
    above: float | None = None,
    between: tuple[float, float] | None = None,
    equals: Any = None,
    digits: int | None = None,
    moves: bool = False,
    example: Any = True,
) -> None:
    """Check `value` against one bound and display both: "✓ keys read: 1.1 (the book says below 1.5)".

    `value` is a number, anything that can be compared with `equals`, or a sequence of numbers (several seeds
    or widths), each of which must hold; a sequence is shown as its range. Numbers are rounded to `digits`
    significant digits, or to as many as the bound has, but numbers from 10 up to no fewer than two. Without
    a bound, a `value` of True or False is claimed to be true: "✓ rows are equal". A function, `lambda:
    errors["one head"]`, is called for the value. If a reader has renamed or removed that entry, the line is
    "✗ error: there is no entry 'one head' here".

    A value outside the bound raises an error while the book is built and tested. In a reader's copy, which
    somebody may have changed, the line is "✗ keys read: 1.6 here; the book says below 1.5", and the notebook
    goes on.

    What is expected is computed from what the cell holds. A claim that can only be about one example of the
    book says by `example` whether that is there: `example="woman" in words`. With another one, a reader's
    copy has "– weight on “woman”: said of the book's example only", and `tally` counts that apart.

    The output's metadata holds the value, too, and `make chapters-run` compares it with the stored one,
    within 0.1%. A value that `moves` is compared by its bound alone, and a sentence quotes the bound.
    Such are the results of training runs: they amplify the last digits of sums, which depend on the
    processor.

    In a chapter's source, the cell's option `:claims:` names its claims, and "What we showed" links to them.

    Raises:
        AssertionError: The claim does not hold, or its example is not there, and CLAIMS_MUST_HOLD is set.
        KeyError: The function for the value finds no such entry, and CLAIMS_MUST_HOLD is set.
        ValueError: There are several bounds, or none for a value that is not True or False; or the value is
            exact and moves; or there are no values and CLAIMS_MUST_HOLD is set.
    """
    if other_example(example, what):
        return
    found, value = entries(value, what)
    if not found:
        count_result(what, False)
        return
    bounds = {"below": below, "above": above, "between": between, "equals": equals}
    given = {kind: bound for kind, bound in bounds.items() if bound is not None}
    value = value.tolist() if isinstance(value, Tensor) else value
    if not given and isinstance(value, bool):
        given = {"equals": True}
    if len(given) != 1:
        raise ValueError(
            f"claim {what!r} has {len(given)} bounds ({', '.join(given) or 'none'}), and its value is "
            f"{value!r}; give one of {', '.join(bounds)}, or none for True or False"
        )
    ((kind, bound),) = given.items()
    if moves and kind == "equals":
        raise ValueError(
            f"claim {what!r} moves with rounding, and equals {bound!r}; give a bound that it keeps"
        )
    if kind == "equals":
        holds, shown, said = value == bound, _words(value), f"exactly {_words(bound)}"
        kept: dict[str, Any] = {"value": shown, "bound": {kind: _words(bound)}}
    else:
        values = [float(v) for v in value] if isinstance(value, Sequence) else [float(value)]
        if not values and must_hold():
            raise ValueError(f"claim {what!r} has no values; an empty list satisfies any bound")
        if not values:
            count_result(what, False)
            refute(f"{what}: **no values** here; the book says {_bound(kind, bound)}")
            return
        rounding = kind == "below" and 0 < bound <= TOLERANCE
        if rounding:
            values = [abs(number) for number in values]
        stored = [number if math.isfinite(number) else str(number) for number in values]  # JSON has no NaN
        kept = {"value": stored, "bound": {kind: bound}}
        digits = digits or max(_digits(end) for end in (bound if kind == "between" else [bound]))
        each = [_within(number, kind, bound) for number in values]
        holds = all(each)
        ends = () if holds else bound if kind == "between" else (bound,)
        while digits < 17 and (
            [_within(_round(n, digits), kind, bound) for n in values] != each
            or any(_round(n, digits) in ends and n not in ends for n in values)
        ):
            digits += 1  # "1.5 (the book says below 1.5)" would contradict itself, and "✗ 2" is not above 2
        shown, said = _range(values, digits), _bound(kind, bound)
        if rounding and holds:
            shown, said = f"less than {unrounded(bound)}", "rounding error only"
    count_result(what, bool(holds))
    metadata = {"name": what, **kept, **({"moves": True} if moves else {})}
    if not holds:
        here = "not here" if bound is True else f"**{shown}** here; the book says {said}"
        refute(f"{what}: {here}", claim=metadata)
        return
    said = "exactly" if kind == "equals" else f"the book says {said}"
    statements = bound if isinstance(bound, list) and bound else [bound]
    value_and_bound = "" if all(each is True for each in statements) else f": **{shown}** ({said})"
    display(  # type: ignore[no-untyped-call]
        CellOutput(f"✓ {what}{value_and_bound}"), metadata={"claim": metadata}
    )


def _within(number: float, kind: str, bound: Any) -> bool:
    if kind == "between":
        return bool(bound[0] <= number <= bound[1])  # NaN is in no interval
    return bool(number < bound if kind == "below" else number > bound)


def _bound(kind: str, bound: Any) -> str:
    if kind == "between":
        return f"between {unrounded(bound[0])} and {unrounded(bound[1])}"
    return f"{kind} {unrounded(bound)}"


def unrounded(bound: float) -> str:
    """Write a bound with all its digits."""
    if float(bound).is_integer() and abs(bound) < 1e15:
        return f"{int(bound):,}"
    return re.sub(r"e([-+])0?", r"e\1", repr(float(bound))).replace("e+", "e")


def _digits(bound: float) -> int:
    """Return the number of significant digits of a bound: 1 for 0.05, 2 for 1.5."""
    mantissa, _ = f"{bound:e}".split("e")
    return max(1, len(mantissa.replace("-", "").replace(".", "").rstrip("0")))


def _round(number: float, digits: int) -> float:
    at_least = 2 if abs(number) >= 10 else 1  # 12.9 is 13, not 10
    return float(f"{number:.{max(digits, at_least)}g}")


def _range(values: list[float], digits: int) -> str:
    low, high = _number(min(values), digits), _number(max(values), digits)
    count = f", {len(values)} values" if len(values) > 1 else ""
    return f"{low}{count}" if low == high else f"{low} to {high}{count}"


def _number(number: float, digits: int) -> str:
    """Write a number with `digits` significant digits, and rounding error as "less than 1e-9"."""
    if number != 0 and abs(number) < NOISE:
        return f"less than {NOISE:.0e}".replace("e-09", "e-9")
    if not math.isfinite(number):
        return f"{number:g}"
    if number.is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"  # a count is not rounded
    rounded = _round(number, digits)
    text = f"{rounded:,.0f}" if abs(rounded) >= 10**digits else f"{rounded:.{digits}g}"
    return re.sub(r"e([-+])0", r"e\1", text)


def _words(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
