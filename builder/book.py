"""The titles and numbers of the book, with which a notebook names other chapters in plain Markdown.

The site resolves these references itself. Here they are resolved for notebooks.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from pybtex.database import Entry, Person, parse_file

from builder.chapters import read_source, written
from builder.handbook import page_of
from builder.site.rendering.numbers import chapter_number, kind_and_stars, number

SITES = {"doi": "https://doi.org/{}", "eprint": "https://arxiv.org/abs/{}", "url": "{}"}
DIRECTIVE = re.compile(r"\{(?P<name>[\w-]+)\}\s*(?P<argument>.*)")
TITLED = re.compile(r"(.*\S)\s*<([^<>]+)>")
OPTION = re.compile(r"^:(\w+): *(.*)$", re.MULTILINE)


def parser() -> MarkdownIt:
    """Return a parser of the book's Markdown, with the extensions that `_config.yml` enables."""
    extensions = {"colon_fence", "deflist", "dollarmath"}
    return create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)


def directive(token: Token) -> tuple[str, str, dict[str, str]]:
    """Return the name, the argument and the options of a directive; the name is empty for other tokens."""
    found = DIRECTIVE.fullmatch(token.info.strip()) if token.type in ("fence", "colon_fence") else None
    return (found["name"], found["argument"], dict(OPTION.findall(token.content))) if found else ("", "", {})


class Book:
    """The titles, sections, equations, exercises and references of the book in the folder `root`."""

    def __init__(self, root: Path) -> None:
        """Read all sources, and the address of the site, which is empty as long as there is none."""
        self.root = root
        self.sources = {path.stem: path for path in written(root)}
        self.pages = {path.stem: path for path in sorted((root / "chapters").glob("*.md"))}
        config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
        self.site = (config.get("html") or {}).get("baseurl", "").rstrip("/")
        self.repository = (config.get("repository") or {}).get("url", "").rstrip("/")
        self.branch = (config.get("repository") or {}).get("branch", "main")
        self.titles: dict[str, str] = {}
        self.sections: dict[str, tuple[str, str]] = {}  # label → page and title
        self.equations: dict[str, tuple[str, str]] = {}  # label → page and number
        self.exercises: dict[str, tuple[str, str]] = {}
        self.entries = parse_file(str(root / "chapters" / "references.bib"), "bibtex").entries
        for name in [*self.pages, *self.sources]:
            self._read(name)

    def _read(self, name: str) -> None:
        equations = exercises = 0
        label = ""
        tokens = list(self._tokens(name))
        for token, following in zip_longest(tokens, tokens[1:]):
            if token.type == "myst_target":
                label = token.content
            elif token.type == "heading_open" and following:
                self.titles.setdefault(name, following.content)
                if label:
                    self.sections[label], label = (name, following.content), ""
            elif token.type == "math_block_label":
                equations += 1
                self.equations.setdefault(token.info, (name, number(name, equations)))
            elif directive(token)[0] == "exercise-start":
                exercises += 1
                exercise = directive(token)[2].get("label", "")
                self.exercises.setdefault(exercise, (name, number(name, exercises)))

    def _tokens(self, name: str) -> Iterator[Token]:
        parse = parser().parse
        if name in self.pages:
            yield from parse(self.pages[name].read_text("utf-8"))
        else:
            for cell in read_source(self.sources[name]).cells:
                yield from parse(cell.source) if cell.cell_type == "markdown" else ()

    def link(self, page: str, text: str, anchor: str = "") -> str:
        """Return a link to a page: on the site if it has an address, else to the notebook beside this one.

        Other pages than notebooks are only on the site.
        """
        if self.site:
            return f"[{text}]({self.site}/{page_of(self.root, page, anchor[1:])}.html{anchor})"
        return f"[{text}]({page}.ipynb)" if page in self.sources else f"*{text}*"

    def relink(self, text: str, target: str, page: str) -> str | None:
        """Return a link of the source as a notebook has it, or None if it stays.

        In a notebook, claims, entries, and labels have no anchors, but figures and sections have.
        """
        if re.match(r"[a-z]+:", target):
            return None
        file, _, anchor = target.partition("#")
        where = file.rpartition(".")[0] or page
        if where != page or (self.site and anchor.startswith(("claim-", "asked-"))):
            return self.link(where, text, f"#{anchor}" if anchor else "")
        if anchor.startswith("claim-"):
            return "✓" if text == "check" else text  # a word that would ask for a click
        if anchor.startswith("asked-"):
            return text
        if anchor.startswith("figure-"):
            return None
        return self.resolve("ref", f"{text} <{anchor}>", page)

    def heading(self, label: str, title: str, classes: str) -> str:
        """Return the title of an exercise: "Exercise 3.1 · Implement ★★ · Title"."""
        kind, stars = kind_and_stars(classes.split())
        parts = [f"Exercise {self.exercises[label][1]}", f"{kind.capitalize()} {'★' * stars}".strip(), title]
        return " · ".join(filter(None, parts))

    def citation(self, key: str, form: str) -> str:
        """Return "Vaswani et al., 2017", in this form, linked to the source if its entry has an address."""
        entry = self.entries[key]
        text = form.format(self._authors(entry), entry.fields["year"])
        address = next((site.format(entry.fields[k]) for k, site in SITES.items() if k in entry.fields), "")
        return f"[{text}]({address})" if address else text

    @staticmethod
    def _authors(entry: Entry) -> str:
        def last(person: Person) -> str:
            return " ".join(name.strip("{}") for name in [*person.prelast_names, *person.last_names])

        names = [last(person) for person in entry.persons.get("author", [])]
        return f"{names[0]} et al." if len(names) > 2 else " and ".join(names)

    def resolve(self, role: str, content: str, page: str) -> str:
        """Return what stands for a role in a notebook of the chapter `page`.

        Raises:
            ValueError: The role, or what it refers to, is unknown.
        """
        content = " ".join(content.split())
        named = TITLED.fullmatch(content)
        text, target = (named[1], named[2]) if named else ("", content)
        match role:
            case "cite:t" if target in self.entries:
                return self.citation(target, "{} ({})")
            case "cite" if all(key in self.entries for key in target.split(",")):
                return f"({'; '.join(self.citation(key, '{}, {}') for key in target.split(','))})"
            case "class":
                return f"`{target.lstrip('~').rpartition('.')[2]}`"
            case "doc" if target in self.titles:
                return self.link(target, text or self.titles[target])
            case "eq" if target in self.equations:
                where, text = self.equations[target][0], f"({self.equations[target][1]})"
                return text if where == page else self.link(where, text, f"#{target}")
            case "ref" if target in self.sections:
                where, title = self.sections[target]
                numbered = [chapter_number(page)] if title == self.titles[page] else []
                anchor = ". ".join([*filter(None, numbered), title]).replace(" ", "-")  # as in JupyterLab
                here = f"[{text or title}](#{anchor})"
                return here if where == page else self.link(where, text or title, f"#{target}")
            case "ref" if target in self.exercises:
                where, place = self.exercises[target]
                text = text or f"exercise {place}"
                return text if where == page else self.link(where, text, f"#{target}")
        raise ValueError(f"{page}: {{{role}}}`{content}` refers to nothing in the book")
