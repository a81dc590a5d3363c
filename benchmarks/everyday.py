"""Does a model translate the sentences that people type first? The sentences are in `everyday.toml`.

    python -m benchmarks.everyday
    python -m benchmarks.everyday --source de --target en
    python -m benchmarks.everyday --model FOLDER

Without `--model`, the shipped model of this direction translates, and the result is
`results/everyday_en-de.json`. With it, the direction is that of the model, and the result is written to its
folder. A translation is right if it is one of the accepted ones. Case counts, because it tells *sie* from
*Sie*, but punctuation does not. The wrong ones are printed.
"""

import argparse
import re
import tomllib
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from annotated_transformer.checkpointing.checkpoint import WEIGHTS, pretrained_folder, read_languages
from annotated_transformer.decoding.translator import Translator
from benchmarks.record import RESULTS, begin, write_result
from benchmarks.ship import describe_file

SENTENCES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["sentence"]
BEAMS = {"greedy": 1, "beam 5": 5}
CONTRACTIONS = {
    r"\bwon't\b": "will not",
    r"\bcan't\b": "cannot",
    r"n't\b": " not",
    r"'m\b": " am",
    r"'re\b": " are",
    r"'ll\b": " will",
    r"'ve\b": " have",
    r"\b(I|you|he|she|we|they)'d (like|love)\b": r"\1 would \2",
    r"\b(it|that|he|she|there)'s\b": r"\1 is",
}


def accepted(source: str, target: str) -> dict[str, list[str]]:
    """Return the right translations of each sentence from one language into another."""
    return {each[source]: each[target] for each in SENTENCES if isinstance(each.get(source), str)}


def essence(text: str) -> str:
    """Return what counts when two translations are compared: the words, without contractions."""
    for short, long in CONTRACTIONS.items():
        text = re.sub(short, long, text, flags=re.IGNORECASE)
    return " ".join(re.findall(r"\w+", text))


def is_right(translation: str, right: list[str]) -> bool:
    """Return whether the translation is one of the right ones."""
    return essence(translation) in map(essence, right)


def measure(translator: Translator, right: dict[str, list[str]]) -> dict[str, Any]:
    """Return how many sentences each search translates right, and all the translations."""
    found = {way: translator.translate(list(right), beam_size=size) for way, size in BEAMS.items()}
    counts = {way: sum(map(is_right, texts, right.values())) for way, texts in found.items()}
    rows = zip(right, *found.values(), strict=True)
    return {
        "sentences": len(right),
        "right": counts,
        "translations": {text: dict(zip(found, texts, strict=True)) for text, *texts in rows},
    }


def wrong(results: dict[str, Any], right: dict[str, list[str]]) -> list[str]:
    """Return a line for each translation that is not right."""
    return [
        f"{text} [{way}] {translation}"
        for text, ways in results["translations"].items()
        for way, translation in ways.items()
        if not is_right(translation, right[text])
    ]


def main() -> None:
    """Translate, print what is wrong, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="folder of another model than the shipped one")
    parser.add_argument("--source", default="en", help="language to translate from (%(default)s)")
    parser.add_argument("--target", default="de", help="language to translate into (%(default)s)")
    options = begin(parser)
    folder = options.model or pretrained_folder(f"{options.source}-{options.target}")
    source, target = read_languages(folder) or (options.source, options.target)
    right = accepted(source, target)
    results = measure(Translator.from_folder(folder), right)
    results = {"direction": f"{source}-{target}", "model": describe_file(folder / WEIGHTS), **results}
    print(*wrong(results, right), results["right"], sep="\n")
    write_result((options.model or RESULTS) / f"everyday_{source}-{target}.json", seed=0, results=results)


if __name__ == "__main__":
    main()
