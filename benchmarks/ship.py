"""Add a trained model to the package: round its weights, evaluate it as shipped, and write its card.

    python -m benchmarks.ship --model FOLDER --data DIR

FOLDER is the run directory of `benchmarks.shipped_model`, whose result file is also read.
"""

import hashlib
import json
import statistics
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import sacrebleu_13a
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair
from benchmarks.model_card import write_card
from benchmarks.quality import beam_scores, read_epochs, score
from benchmarks.record import RESULTS, add_languages, begin, data_parser, write_result

EXAMPLES = {
    "en": [
        "The weather is nice today.",
        "I don't know where he lives.",
        "If it rains tomorrow, we will stay at home.",
        "The book that you gave me is on the table.",
    ],
    "de": [
        "Das Wetter ist heute schön.",
        "Ich weiß nicht, wo er wohnt.",
        "Wenn es morgen regnet, bleiben wir zu Hause.",
        "Das Buch, das du mir gegeben hast, liegt auf dem Tisch.",
    ],
}
BEYOND = {  # text that is unlike the sentences of Tatoeba
    "en": [
        "The weather is nice today. Let's go to the park. I will bring some bread.",
        "The committee, which had met several times since the spring, could not agree on whether the "
        "proposal that the mayor had made should be put to the vote before or after the holidays.",
        "Scaled dot-product attention divides the scores by the square root of the key dimension.",
        "Ceci n'est pas une pipe.",
    ],
    "de": [
        "Das Wetter ist heute schön. Gehen wir in den Park. Ich bringe Brot mit.",
        "Der Ausschuss, der sich seit dem Frühling mehrmals getroffen hatte, konnte sich nicht einigen, ob "
        "über den Vorschlag des Bürgermeisters vor oder nach den Ferien abgestimmt werden sollte.",
        "Die skalierte Skalarprodukt-Aufmerksamkeit teilt die Werte durch die Wurzel der Dimension.",
        "Ceci n'est pas une pipe.",
    ],
}


def ship(model: Path, corpus: Corpus, training: dict[str, Any], *, source: str, target: str) -> None:
    """Write the model in the folder `model` to the package, with its result file and its card.

    `training` is the content of the result file of its training run.

    Raises:
        ValueError: If the result file is that of another training run.
    """
    name = f"{source}-{target}"
    _refuse_another(model, training)
    folder = checkpoint.PRETRAINED / name
    trained, tokenizer = checkpoint.load(model)
    checkpoint.save(folder, trained, tokenizer, stored=torch.float16, languages=(source, target))
    results = {
        "source": source,
        "target": target,
        "files": {file: describe_file(folder / file) for file in checkpoint.FILES},
        "parameters": sum(parameter.numel() for parameter in trained.parameters()),
        "vocabulary": tokenizer.vocab_size,
        "corpus": describe(corpus),
        **judge(Translator.from_pretrained(name), corpus),
        "examples": say(name, EXAMPLES[source]),
        "beyond": say(name, BEYOND[source]),
        "training": training,
    }
    write_result(RESULTS / f"weights_{name}.json", seed=training["seed"], results=results)
    write_card(name, RESULTS)


def _refuse_another(model: Path, training: dict[str, Any]) -> None:
    """Refuse a model that is not from the training run of the result file."""
    epochs, known = read_epochs(model), training["results"]["epochs"]
    if epochs != known:
        raise ValueError(
            f"the training run in {model} ended with {epochs[-1:]}, but that of the result file with "
            f"{known[-1:]}; give the folder of that run, and its --source and --target"
        )


def describe_file(path: Path) -> dict[str, object]:
    """Return the file's size and SHA-256 digest."""
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def describe(corpus: Corpus) -> dict[str, object]:
    """Return the statistics and the license of the corpus for the model card."""
    lengths = sorted(len(source.split()) for source, _ in corpus.splits["train"])
    return {
        "pairs": {split: len(pairs) for split, pairs in corpus.splits.items()},
        "mean_words": round(statistics.mean(lengths), 2),
        "words_of_99_percent": lengths[len(lengths) * 99 // 100],
        "terms": corpus.terms,
    }


def judge(translator: Translator, corpus: Corpus) -> dict[str, object]:
    """Return the BLEU on each held-out split, and on test sentences joined into longer texts."""
    held_out = {split: corpus.splits[split] for split in ("val", "test")}
    (scores,) = beam_scores(translator, held_out, {"cased 13a": sacrebleu_13a}).values()
    joined = {}
    for number in (2, 4):
        texts, references = map(list, zip(*join(held_out["test"], number), strict=True))
        joined[str(number)] = score(
            translator.translate(texts, beam_size=5, split=False), references, sacrebleu_13a
        )
    return {"scores": scores, "joined": joined}


def join(pairs: list[SentencePair], number: int) -> list[SentencePair]:
    """Join each `number` consecutive pairs into one; an incomplete group at the end is dropped."""
    groups = zip(*(pairs[start::number] for start in range(number)), strict=False)
    return [(" ".join(s for s, _ in group), " ".join(t for _, t in group)) for group in groups]


def say(name: str, texts: list[str]) -> dict[str, str]:
    """Return the translation of each text, without splitting it into sentences."""
    return dict(zip(texts, Translator.from_pretrained(name).translate(texts), strict=True))


def main() -> None:
    """Add the model given by the options to the package."""
    parser = data_parser(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="run directory of shipped_model")
    add_languages(parser)
    options = begin(parser)
    languages = {"source": options.source, "target": options.target}
    training = json.loads((RESULTS / f"shipped_{options.source}-{options.target}.json").read_text("utf-8"))
    ship(options.model, load_corpus("tatoeba", folder=options.data, **languages), training, **languages)


if __name__ == "__main__":
    main()
