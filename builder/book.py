"""The titles and numbers of the book, with which a notebook names other chapters in plain Markdown.

The site resolves these references itself. Here they are resolved for notebooks.
"""

import re
from pathlib import Path

import yaml
from pybtex.database import Entry, Person, parse_file

from builder.chapters import chapter_number, source_of, written
from builder.handbook import page_of
from builder.source import Equation, Exercise, Section, read

SITES = {"doi": "https://doi.org/{}", "eprint": "https://arxiv.org/abs/{}", "url": "{}"}
TITLED = re.compile(r"(.*\S)\s*<([^<>]+)>")


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
        self.sections: dict[str, tuple[str, Section]] = {}  # by their labels, with their pages
        self.equations: dict[str, tuple[str, Equation]] = {}
        self.exercises: dict[str, tuple[str, Exercise]] = {}
        self.entries = parse_file(str(root / "chapters" / "references.bib"), "bibtex").entries
        for path in [*self.pages.values(), *self.sources.values()]:
            self.add(path)

    def add(self, path: Path) -> None:
        """Add what a page defines."""
        page, source = path.stem, read(path)
        if source.title:
            self.titles[page] = source.title
        self.sections |= {section.label: (page, section) for section in source.sections if section.label}
        self.equations |= {equation.label: (page, equation) for equation in source.equations}
        self.exercises |= {exercise.label: (page, exercise) for exercise in source.exercises}

    def link(self, page: str, text: str, anchor: str = "") -> str:
        """Return a link to a page: on the site if it has an address, else to the notebook beside this one.

        Other pages than notebooks are only on the site.
        """
        if self.site:
            there = page_of(source_of(self.root, page), anchor[1:])
            return f"[{text}]({self.site}/{there}.html{anchor})"
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
        titled = TITLED.fullmatch(content)
        text, target = titled.groups() if titled else ("", content)
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
                where, equation = self.equations[target]
                text = f"({equation.number})"
                return text if where == page else self.link(where, text, f"#{target}")
            case "ref" if target in self.sections:
                where, title = self.sections[target][0], self.sections[target][1].title
                numbered = [chapter_number(page)] if title == self.titles[page] else []
                anchor = ". ".join([*filter(None, numbered), title]).replace(" ", "-")  # as in JupyterLab
                here = f"[{text or title}](#{anchor})"
                return here if where == page else self.link(where, text or title, f"#{target}")
            case "ref" if target in self.exercises:
                where, exercise = self.exercises[target]
                text = text or f"exercise {exercise.number}"
                return text if where == page else self.link(where, text, f"#{target}")
        raise ValueError(f"{page}: {{{role}}}`{content}` refers to nothing in the book")
