"""Options of the command line, made from the fields of classes. Nothing here imports PyTorch.

A field is an option: its type says how a value is read, its default is that of the option, and the help is
the first sentence about it in the docstring, where "`None` means …" describes the default. What else there is
to say about an option stands in its type, as `Annotated[…, Option(…)]`. Such a class needs no instance.
"""

import argparse
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from pathlib import Path
from textwrap import fill
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from annotated_transformer.commands.output import check_file

METAVARS = {Path: "PATH", int: "N", float: "NUMBER", str: "TEXT"}


class Option(NamedTuple):
    """What a field's type does not say about its option.

    Attributes:
        choices: The values that are allowed; if they have an attribute `about`, the help shows it.
        flag: The name of the option, if it is another than the field's; `""` for a positional argument.
        file: Whether the value is a file to read, or one to write.
        only_with: The option has an effect only with one of these.
        not_with: The option excludes each of these.
    """

    choices: Iterable[str] | None = None
    flag: str | None = None
    file: Literal["read", "write"] | None = None
    only_with: tuple[str, ...] = ()
    not_with: tuple[str, ...] = ()


class Group(NamedTuple):
    """A group of options: the fields of a class, whose docstring begins with the heading in the help.

    Attributes:
        config: The class.
        names: The fields that are options; none means all.
        without: Fields that are no options.
        title: The heading, if it is another one.
        defaults: The defaults where options override another source, such as a file: an option that is not
            given is then `None`. Without them, options have the defaults of the fields.
        choices: The values that are allowed, by field, where the type does not say them.
    """

    config: type
    names: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    title: str | None = None
    defaults: Mapping[str, object] | None = None
    choices: Mapping[str, Iterable[str]] = {}

    def options(self) -> dict[str, tuple[Option, Any, object]]:
        """Return the details, the type, and the default of each option."""
        options = {}
        for name, kind in get_type_hints(self.config, include_extras=True).items():
            if name in (self.names or [name]) and name not in self.without:
                unsaid = Option(self.choices.get(name))
                kind, details = get_args(kind) if get_origin(kind) is Annotated else (kind, unsaid)
                options[name] = details, kind, getattr(self.config, name, MISSING)
        return options


def add_options(command: argparse.ArgumentParser, group: Group) -> None:
    """Add a group of options to a command."""
    about, _, section = (inspect.getdoc(group.config) or "").partition("\n\nAttributes:\n")
    about = about if section else group.config.__name__  # `python -OO` leaves no docstring
    title, _, description = about.partition("\n\n")
    place = command.add_argument_group(
        *([group.title] if group.title else [title.rstrip(".").lower(), fill(description, 76) or None])
    )
    texts = dict(re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", section, re.MULTILINE))
    for name, (details, kind, default) in group.options().items():
        in_use = default if group.defaults is None else group.defaults.get(name, default)
        settings: dict[str, Any] = {"choices": details.choices} if details.choices else _kind(kind)
        settings["help"] = _help(texts.get(name, name), details.choices, in_use)
        settings["default"] = None if default is MISSING or group.defaults is not None else default
        if details.flag == "":
            settings |= {"metavar": name} | ({"nargs": "*"} if default == () else {})
            place.add_argument(name, **settings)
        else:
            place.add_argument(_flag(name, details), dest=name, required=default is MISSING, **settings)


def check_options(options: argparse.Namespace, groups: Iterable[Group]) -> None:
    """Refuse options without effect, and files that cannot be read or written."""
    known = {name: one for group in groups for name, one in group.options().items()}
    flags = {name: _flag(name, details) for name, (details, _, _) in known.items()}
    values = {name: getattr(options, name) for name in known}
    values = {name: value for name, value in values.items() if value not in (None, [], known[name][2])}
    for name, value in values.items():
        details, flag = known[name][0], flags[name]
        needed = [other for other in details.only_with if other in known]
        if needed and not values.keys() & needed:
            ways = " or ".join(flags[other] for other in needed)
            raise ValueError(f"{flag} has an effect only with {ways}; add it, or leave {flag} out")
        for other in details.not_with:
            if other in values:
                raise ValueError(f"{flag} and {flags[other]} exclude each other; leave one of them out")
        for file in (value if isinstance(value, list) else [value]) if details.file else []:
            check_file(flag, file, written=details.file == "write")


def _flag(name: str, details: Option) -> str:
    return name if details.flag == "" else f"--{details.flag or name.replace('_', '-')}"


def _help(text: str, choices: Any, default: object) -> str:
    """Return the first sentence of a text, with the default, which may be what the text says of `None`."""
    sentence, _, none = " ".join(text.split()).partition(". ")[0].rstrip(".").partition("; `None` means ")
    sentence = re.sub("^[A-Z](?![A-Z])", lambda first: first[0].lower(), sentence)
    if isinstance(choices, Mapping) and all(hasattr(one, "about") for one in choices.values()):
        sentence += ": " + "; ".join(f"{name}, {one.about}" for name, one in choices.items())
    words = none if default in (None, ()) else {"True": "on", "False": "off"}.get(str(default), default)
    text = sentence if default is MISSING else f"{sentence} (default: {words})"
    return text.replace("`", "").replace("%", "%%")


def _kind(kind: Any) -> dict[str, Any]:
    """Return how argparse reads a value of the type of a field."""
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return {"choices": get_args(one)}
        if get_origin(one) is tuple:
            return {"nargs": "+", **_kind(get_args(one)[0])}
    (kind,) = {*(get_args(kind) or (kind,))} - {NoneType}
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    return {"type": _path if kind is Path else kind, "metavar": METAVARS[kind]}


def _path(text: str) -> Path:
    if not text:  # for example because a shell variable is not set
        raise argparse.ArgumentTypeError("'' is not a path; give the name of a file or folder")
    return Path(text)
