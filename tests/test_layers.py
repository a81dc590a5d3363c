"""The package's layers: imports never point up, and no loader can run code."""

import ast
import re
from collections import defaultdict
from fnmatch import fnmatchcase
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = "annotated_transformer"
FOLDER = Path(__file__).parent.parent / PACKAGE
FILES = sorted(FOLDER.rglob("*.py"))

MODEL = ("model", "model.*")
TEXT = ("text", "text.*")
INSPECTION = ("config", *MODEL, *TEXT, "inspection", "inspection.*")
CHECKPOINTING = ("config", "registry", *MODEL, *TEXT, "checkpointing", "checkpointing.*")
BELOW = (
    *INSPECTION,
    *CHECKPOINTING,
    "evaluation",
    "evaluation.*",
)  # below training and decoding, which may not import each other
TRAINING, DECODING = ((name, f"{name}.*") for name in ("training", "decoding"))
PLOTTING = ("plotting", "plotting.*")  # draws what training reports
MODERN = ("modern", "modern.*")
INTEROP = ("interop", "interop.*")
ENGINE = (*BELOW, *TRAINING, *DECODING, *PLOTTING, *MODERN, *INTEROP)
FAST = ("fast", "fast.*")  # a guest: imports inside functions reach it
TOGETHER = (*ENGINE, "commands.*")
ROOMS = sorted(path.parent.name for path in FOLDER.glob("book/chapters/*/__init__.py"))
SHARED = ("cells", "drawing", "exercises", "explorer", "grading", "output", "results", "toy")
VOCABULARY = ("book", *(f"book.{name}*" for name in SHARED))  # of the book's chapters

# The modules (patterns; "." is the package itself) that a module may import; the first match counts.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    ".": (*BELOW, *TRAINING, *DECODING),
    **dict.fromkeys(("lazy_names", "extras", "calls", "devices", "kinds", "whole_numbers"), ()),
    "registry": (),
    "config": ("registry",),
    "model.id_checks": ("model.checks",),
    **dict.fromkeys(("model.checks", "model.plain", "model.masks", "model.loss", "model.uncompiled"), ()),
    **dict.fromkeys(("model.attention", "model.normalization", "model.feed_forward"), ("model.checks",)),
    "model.multi_head_attention": ("config", "model.attention", "model.checks", "model.masks"),
    "model.cacheable": ("model.attention", "model.multi_head_attention", "model.plain"),
    "model.initialization": ("model.multi_head_attention",),
    **dict.fromkeys(
        ("model.embeddings", "model.positional_encoding"),
        ("config", "model.checks", "model.id_checks", "model.initialization"),
    ),
    **dict.fromkeys(
        ("model.encoder", "model.decoder"),
        ("model.checks", "model.feed_forward", "model.masks", "model.multi*", "model.normalization"),
    ),
    "model.inference": ("config", "model.id_checks", "model.masks", "model.plain", "model.tr*", "model.un*"),
    "model.parts": ("config", "registry", "model.*"),
    "model.transformer": ("config", "model.*"),
    "model.computation": ("model.plain",),
    "model.comparison": ("model.computation", "model.inference", "model.plain"),
    "model.trainable": ("config", "model.id_checks", "model.plain", "model.transformer"),
    "model": ("model.*",),
    **dict.fromkeys(TEXT, TEXT),
    **dict.fromkeys(("evaluation", "evaluation.*"), (*TEXT, "evaluation.*")),
    **dict.fromkeys(("inspection", "inspection.*"), INSPECTION),
    **dict.fromkeys(FAST, ("config", *MODEL, *TEXT, *TRAINING, *DECODING, *FAST)),
    **dict.fromkeys(("checkpointing", "checkpointing.*"), CHECKPOINTING),
    "training.trainer": (*BELOW, *TRAINING, "fast.training"),
    **dict.fromkeys(TRAINING, (*BELOW, *TRAINING)),
    "decoding.translator": (*BELOW, *DECODING, "fast.kv_cache"),
    **dict.fromkeys(DECODING, ("config", *MODEL, *DECODING)),
    **dict.fromkeys(PLOTTING, (*BELOW, *TRAINING, *PLOTTING)),
    **dict.fromkeys(MODERN, ("config", "registry", *MODEL, *MODERN)),
    **dict.fromkeys(INTEROP, ("registry", *CHECKPOINTING, *DECODING, *INTEROP)),
    **{f"book.chapters.{room}*": (*ENGINE, *VOCABULARY, f"book.chapters.{room}.*") for room in ROOMS},
    **dict.fromkeys(("book.chapters", "book.from_scratch", "book.from_scratch.whole_transformer"), ()),
    "book.from_scratch.*": (*ENGINE, *VOCABULARY, "book.from_scratch.*"),
    "commands.build": (*TOGETHER, "book.from_scratch.*", "book.exercises.verdict"),
    **dict.fromkeys(VOCABULARY, (*ENGINE, *VOCABULARY)),
    "commands": TOGETHER,
    "commands.grade": (*TOGETHER, "book.grading", "book.from_scratch.*"),
    "commands.*": TOGETHER,
    "__main__": ("*",),
}
TOP = ("book", "book.*", "commands", "commands.*", "__main__")  # nothing below imports these
CAN_RUN_CODE = {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "torch.load", "torch.save"}


def module_name(path: Path) -> str:
    parts = path.relative_to(FOLDER).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "."


@cache
def modules() -> set[str]:
    return {module_name(path) for path in FILES}


def imported(source: str, module: str, is_package: bool = False) -> set[str]:
    """Return the modules of the package that a source imports, with relative imports resolved."""
    names = set()
    here = [PACKAGE, *(module.split(".") if module != "." else [])]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + is_package] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:  # in `from package import name`, the name may be a module
                name = f"{origin}.{alias.name}"
                names.add(name if name.removeprefix(f"{PACKAGE}.") in modules() else origin)
    ours = {name for name in names if name == PACKAGE or name.startswith(f"{PACKAGE}.")}
    return {name.removeprefix(PACKAGE).removeprefix(".") or "." for name in ours}


def arrows_up(source: str, module: str, is_package: bool = False) -> set[str]:
    """Return the imports of a source that the table does not allow."""
    patterns = next((v for k, v in MAY_IMPORT.items() if fnmatchcase(module, k)), None)
    if patterns is None:
        return {f"{module} has no layer in the table"}
    patterns = (*patterns, "lazy_names", "extras", "calls", "devices", "kinds", "whole_numbers")
    top = any(fnmatchcase(module, t) for t in TOP)
    return {
        name
        for name in imported(source, module, is_package)
        if not any(fnmatchcase(name, p) for p in patterns)
        or (not top and any(fnmatchcase(name, t) for t in TOP))
    }


def code_runners(source: str) -> set[str]:
    """Return the names in a source that can run code from a file they load."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute):
            names.add(ast.unparse(node))
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            names.add("pickle")
    return names & CAN_RUN_CODE


def test_law_no_module_imports_from_a_higher_layer():
    up = {
        name: arrows_up(path.read_text("utf-8"), name, path.name == "__init__.py")
        for path in FILES
        if (name := module_name(path))
    }
    assert {name: arrows for name, arrows in up.items() if arrows} == {}
    assert arrows_up("def f(): from ..book import toy", "training.loss") == {"book.toy"}
    assert {next(rule for rule in MAY_IMPORT if fnmatchcase(name, rule)) for name in up} == MAY_IMPORT.keys()


def test_law_no_folders_of_the_book_import_each_other():
    imports: dict[str, set[str]] = defaultdict(set)
    for path in FOLDER.glob("book/*/*.py"):
        folder = path.parent.name
        names = imported(path.read_text("utf-8"), module_name(path))
        imports[folder] |= {name.split(".")[1] for name in names if name.startswith("book.")} - {folder}
    TopologicalSorter(imports).prepare()  # raises a CycleError that names the circle


def test_law_the_package_is_imported_without_its_fast_path():
    at_import = re.compile(rf"^(from|import) {PACKAGE}\.fast\b", re.M)
    importers = {module_name(path) for path in FILES if at_import.search(path.read_text("utf-8"))}
    assert {name for name in importers if not name.startswith("fast.")} == set()


def test_law_the_package_and_the_chapters_never_import_the_builder():
    sources = [*FILES, *FOLDER.parent.glob("chapters/src/*.md")]
    assert [
        str(path)
        for path in sources
        if re.search(r"^ *(from|import) builder\b", path.read_text("utf-8"), re.M)
    ] == []


def test_law_what_makes_notebooks_does_not_import_the_site():
    builder = FOLDER.parent / "builder"
    sources = [*builder.glob("*.py"), *builder.glob("lint/*.py")]
    upward = [path.name for path in sources if "from builder.site" in path.read_text("utf-8")]
    assert upward == ["figures.py"]  # which draws as a page does


def test_law_no_module_uses_a_loader_that_can_run_code():
    runners = {module_name(path): code_runners(path.read_text("utf-8")) for path in FILES}
    assert {name: loaders for name, loaders in runners.items() if loaders} == {}
    assert code_runners("import torch\ntorch.load('x', weights_only=True)") == {"torch.load"}
