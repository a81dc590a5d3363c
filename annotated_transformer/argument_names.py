"""Error messages that name the arguments at fault, for callers whose names for these differ."""

from collections.abc import Callable, Iterable
from string import Formatter

Naming = Callable[..., str]
"""Returns the words for an argument's name, or for its name and value."""


class Message(str):
    """A message about arguments, such as "d_model=12 does not split into num_heads=5 equal heads".

    In `sentence`, `{d_model}` stands for an argument: with its value if `values` has it, otherwise by
    name. Each `{}` stands for the next of `parts`, which are texts or messages.

    As a string, it names arguments as in Python; `named` returns it with a caller's own names, such as
    those of the command line's options.
    """

    _fields: tuple[str, tuple[object, ...], dict[str, object]]

    def __new__(cls, sentence: str, /, *parts: object, **values: object) -> "Message":
        """Return the message in Python's words."""
        message = super().__new__(cls, _fill(in_python, sentence, parts, values))
        message._fields = sentence, parts, values
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """Return what a copy is made of."""
        sentence, parts, values = self._fields
        return (sentence, *parts), values

    def named(self, naming: Naming) -> str:
        """Return the message with the names that `naming` gives."""
        return _fill(naming, *self._fields)


def in_python(name: str, *value: object) -> str:
    """Return `name`, or `name=value`."""
    return "=".join([name, *map(repr, value)])


def argument(name: str, *value: object) -> Message:
    """Return a message that consists of an argument, with its value if there is one."""
    return Message(f"{{{name}}}", **dict(zip([name], value, strict=False)))


def join(separator: str, parts: Iterable[object]) -> Message:
    """Return the message of these texts or messages, separated by `separator`."""
    parts = list(parts)
    return Message(separator.join(["{}"] * len(parts)), *parts)


def _fill(naming: Naming, sentence: str, parts: tuple[object, ...], values: dict[str, object]) -> str:
    names = [name for _, name, _, _ in Formatter().parse(sentence) if name]
    arguments = {name: naming(name, *([values[name]] if name in values else [])) for name in names}
    texts = [part.named(naming) if isinstance(part, Message) else part for part in parts]
    return sentence.format(*texts, **arguments)
