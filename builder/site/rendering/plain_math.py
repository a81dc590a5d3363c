"""Formulas as one line of text, such as softmax(QKᵀ/√d_k)V, from the MathML of the pages."""
# ruff: noqa: RUF001  formulas consist of such characters

import re
import unicodedata

from lxml.html import HtmlElement

OPERATORS = "=≠≈≤≥<>∈∼∝→←+−×⋅⊙∗∣∧"
DOUBLE = str.maketrans("RE", "ℝ𝔼")
RAISED = str.maketrans("0123456789−+⊤′⋆∗", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ′⋆∗")
ACCENTS = {"^": "\u0302", "¯": "\u0304"}
PLAIN = re.compile(r"−?(?:[^\s/()+−=]|\([^()]*\))*")  # above a fraction bar
ATOM = re.compile(  # below it, or under a root
    r"[√∂]?(?:[\d.,]+|\w[\u0302\u0304]?)(?:_\w+|_\([^()]*\))?(?:\^\w|\^\([^()]*\)|[ᵀ²³])?"
)
SPACES = [  # in this order
    (rf"(?<=[^\s(\[{{,;{OPERATORS}]) *([{OPERATORS}]) *", r" \1 "),  # not around a sign
    (r"\s*([,;])\s*(?=\S)", r"\1 "),
    (r"(?<=\d), (?=\d{3}(?!\d))", ","),  # 4,000
    (r"([=+−×]) *;", r"\1"),  # a line that goes on
    (r"; *(?=[=≤≥≈])", " "),
    (r"(?<=[(\[{√/_^]) +| +(?=[)\]}/_^²³ᵀ′])|(?<=\w) +(?=\()", ""),
    (r"\s+", " "),
]


def formula_text(math: HtmlElement) -> str:
    """Return a formula as text."""
    text = part_text(math)
    for pattern, spaced in SPACES:
        text = re.sub(pattern, spaced, text)
    return unicodedata.normalize("NFC", text.strip())


def part_text(part: HtmlElement) -> str:
    """Return a part of a formula as text."""
    inner = list(map(part_text, part))
    match part.tag, *inner:
        case "mi" | "mo" | "mn" | "mtext", *_:
            text = (part.text or "").replace("\u2061", "")
            if part.get("mathvariant") == "double-struck":
                return text.translate(DOUBLE)
            return f" {text} " if len(text) > 1 and text.isalpha() else text
        case "mspace", *_:
            return " "
        case "msqrt", *_:
            return "√" + in_parentheses("".join(inner), ATOM)
        case "mfrac", above, below:
            return in_parentheses(above, PLAIN) + "/" + in_parentheses(below, ATOM)
        case "mover", base, over if over in ACCENTS:
            return base + ACCENTS[over]
        case "munder", base, "⏟":
            return base
        case (("msub" | "munder"), base, low):
            return base.rstrip() + script("_", low) + " " * (part.tag == "munder")
        case (("msup" | "mover"), base, high):
            return base.rstrip() + script("^", high)
        case (("msubsup" | "munderover"), base, low, high):
            return base.rstrip() + script("_", low) + script("^", high) + " " * (part.tag == "munderover")
        case "mtable", *_:
            return "; ".join(inner)
        case "mtd", *_:
            return "".join(inner) + " "
    return "".join(inner)


def in_parentheses(text: str, whole: re.Pattern[str]) -> str:
    """Return a text in brackets, unless it is understood as a whole without them."""
    return text.strip() if whole.fullmatch(text.strip()) else f"({text.strip()})"


def script(mark: str, text: str) -> str:
    """Return a subscript or a superscript."""
    text = re.sub(r"\s*([^\w\s])\s*", r"\1", text).strip()
    if mark == "^" and all(ord(letter) in RAISED for letter in text):
        return text.translate(RAISED)
    if mark == "_" and len(text) > 1 and text.isalnum():
        return f"_{text} "  # d_model h, not d_modelh
    return f"{mark}{text}" if re.fullmatch(r"\w+|[^\w\s]|\([^()]*\)", text) else f"{mark}({text})"
