"""Put a trained model into the package: round it, judge it as it will be loaded, and write its card.

    python -m benchmarks.ship --model FOLDER --data DIR

FOLDER is what `benchmarks.shipped_model` trained into; its result file says how.
"""

import argparse
import hashlib
import json
import statistics
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding import pretrained
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import sacrebleu_13a
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair
from benchmarks.model_card import write_card
from benchmarks.quality import beam_scores, read_epochs, score
from benchmarks.record import RESULTS, describe_code, write_result

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
BEYOND = {  # what the sentences of Tatoeba do not prepare a model for
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
    """Write the model of the folder `model` into the package, its result file and its card.

    `training` is the result file of its training.

    Raises:
        ValueError: If it is that of another.
    """
    name = f"{source}-{target}"
    _refuse_another(model, training)
    folder = pretrained.PLACE / name
    trained, tokenizer = checkpoint.load(model)
    checkpoint.save(folder, trained, tokenizer, stored=torch.float16)
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
    """Keep a model from another one's place, and from another one's card."""
    found, known = read_epochs(model), training["results"]["epochs"]
    if found != known:
        raise ValueError(
            f"the training in {model} ended with {found[-1:]}, and that of the result file with "
            f"{known[-1:]}; give the folder of that training, and its --source and --target"
        )


def describe_file(path: Path) -> dict[str, object]:
    """Return what tells the file from others."""
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def describe(corpus: Corpus) -> dict[str, object]:
    """Return what a card says of the sentences that a model has learned from."""
    lengths = sorted(len(source.split()) for source, _ in corpus.splits["train"])
    return {
        "pairs": {split: len(pairs) for split, pairs in corpus.splits.items()},
        "mean_words": round(statistics.mean(lengths), 2),
        "words_of_99_percent": lengths[len(lengths) * 99 // 100],
        "terms": corpus.terms,
    }


def judge(translator: Translator, corpus: Corpus) -> dict[str, object]:
    """Return the BLEU of each held-out split, and of test sentences that are joined to one text."""
    held_out = {split: corpus.splits[split] for split in ("val", "test")}
    (scores,) = beam_scores(translator, held_out, {"cased 13a": sacrebleu_13a}).values()
    joined = {}
    for number in (2, 4):
        texts, references = map(list, zip(*join(held_out["test"], number), strict=True))
        joined[str(number)] = score(translator.translate(texts, beam_size=5), references, sacrebleu_13a)
    return {"scores": scores, "joined": joined}


def join(pairs: list[SentencePair], number: int) -> list[SentencePair]:
    """Return each `number` neighbors as one text; what is left at the end is left out."""
    groups = zip(*(pairs[start::number] for start in range(number)), strict=False)
    return [(" ".join(s for s, _ in group), " ".join(t for _, t in group)) for group in groups]


def say(name: str, texts: list[str]) -> dict[str, str]:
    """Return what `translate` prints for each text."""
    return dict(zip(texts, Translator.from_pretrained(name).translate(texts), strict=True))


def main() -> None:
    """Ship the model that the options name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder that shipped_model trained into")
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--source", default="en", help="language to translate from (%(default)s)")
    parser.add_argument("--target", default="de", help="language to translate into (%(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="of the processor (%(default)s)")
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(options.threads)
    languages = {"source": options.source, "target": options.target}
    training = json.loads((RESULTS / f"shipped_{options.source}-{options.target}.json").read_text("utf-8"))
    ship(options.model, load_corpus("tatoeba", folder=options.data, **languages), training, **languages)


if __name__ == "__main__":
    main()
