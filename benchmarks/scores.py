"""Score the translations of the English–German model in several ways, for the chapter on translation.

    python -m benchmarks.scores --data DIR

`DIR` is the folder of Tatoeba. The result has scores and counts only, no sentences. Intervals are those of
sacreBLEU: 95 % of the scores of 1,000 test sets drawn with replacement are within `ci` of their mean.
"""

from collections import defaultdict
from itertools import zip_longest

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from annotated_transformer import Translator, load_corpus
from annotated_transformer.evaluation import multi30k_bleu, sacrebleu_13a
from annotated_transformer.text.moses import moses_lowercase
from annotated_transformer.text.sentence_pairs import SentencePair
from benchmarks.quality import sides
from benchmarks.record import begin, write_result

SAMPLES = 1000
LENGTHS = ((1, 4), (5, 8), (9, 12), (13, 10_000))  # words of the source
BEAMS = (1, 5)
Scores = dict[str, dict[str, float | None]]  # by metric


def same_output(hypotheses: list[str], references: list[str]) -> dict[str, float]:
    """Return the BLEU of the same translations, computed in several ways."""
    ways = {
        "cased, 13a": BLEU(),
        "lowercased, 13a": BLEU(lowercase=True),
        "cased, not tokenized": BLEU(tokenize="none", force=True),
        "cased, characters": BLEU(tokenize="char"),
    }
    scores = {name: way.corpus_score(hypotheses, [references]).score for name, way in ways.items()}
    each = BLEU(effective_order=True)
    by_sentence = [
        each.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return scores | {
        "lowercased, Moses": multi30k_bleu(hypotheses, references).bleu,
        "mean of sentences, 13a": sum(by_sentence) / len(by_sentence),
    }


def compare(outputs: dict[str, list[str]], references: list[str]) -> dict[str, Scores]:
    """Return each system's scores with intervals, and p-values against the first one (paired bootstrap)."""
    lowercased, *prepared = (
        [moses_lowercase(text, "de") for text in texts] for texts in (references, *outputs.values())
    )
    moses = BLEU(tokenize="none", smooth_method="none", force=True)  # as in multi30k_bleu
    cased = paired(outputs, references, {"13a": BLEU(), "chrF": CHRF()})
    others = paired(dict(zip(outputs, prepared, strict=True)), lowercased, {"Moses": moses})
    return {name: cased[name] | others[name] for name in outputs}


def paired(
    outputs: dict[str, list[str]], references: list[str], metrics: dict[str, Metric]
) -> dict[str, Scores]:
    """Return each system's scores by each metric, with intervals and p-values against the first system."""
    scores: dict[str, Scores] = {name: {} for name in outputs}
    for metric, measure in metrics.items():
        test = PairedTest([*outputs.items()], {metric: measure}, [references], "bs", SAMPLES)
        (column,) = (values for name, values in test()[1].items() if name != "System")
        for name, result in zip(outputs, column, strict=True):
            assert isinstance(result, Result)
            scores[name][metric] = {
                "score": float(result.score),
                "ci": float(result.ci or 0),
                "p": None if result.p_value is None else float(result.p_value),
            }
    return scores


def by_length(pairs: list[SentencePair], hypotheses: list[str]) -> list[dict[str, float]]:
    """Return the BLEU of short and of long sources, and how often the translation equals the reference."""
    rows = []
    for low, high in LENGTHS:
        chosen = [
            (hypothesis, reference)
            for (source, reference), hypothesis in zip(pairs, hypotheses, strict=True)
            if low <= len(source.split()) <= high
        ]
        if chosen:
            ours, theirs = sides(chosen)
            score = BLEU().corpus_score(ours, [theirs], n_bootstrap=SAMPLES)
            exact = sum(ours == theirs for ours, theirs in chosen)
            row = {"from": low, "to": high, "texts": len(chosen), "bleu": score.score}
            rows.append(row | {"ci": float(score._ci), "exact": exact})
    return rows


def another_reference(pairs: list[SentencePair], hypotheses: list[str]) -> dict[str, float]:
    """Compare the model with people, on the sources for which the split has several translations.

    The first translation of a source is its reference, and the second one is scored as if a system had
    written it. The model is scored against the first, and against all of them.
    """
    translations: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        translations[source].append(target)
    by_source = {source: text for (source, _), text in zip(pairs, hypotheses, strict=True)}
    several = {source: texts for source, texts in translations.items() if len(texts) > 1}
    model = [by_source[source] for source in several]
    first, second, *more = map(list, zip_longest(*several.values()))
    return {
        "sources": len(translations),
        "sources with several": len(several),
        "second person against first": sacrebleu_13a(second, first).bleu,
        "model against first": sacrebleu_13a(model, first).bleu,
        "model against all": BLEU().corpus_score(model, [first, second, *more]).score,
        "model equals first": sum(a == b for a, b in zip(model, first, strict=True)),
        "model equals one of them": sum(a in b for a, b in zip(model, several.values(), strict=True)),
    }


def main() -> None:
    """Translate the test split, and write the scores."""
    options = begin(__doc__, "data")
    corpus, translator = load_corpus("tatoeba", folder=options.data), Translator.from_pretrained("en-de")
    pairs = corpus.splits["test"]
    sources, references = sides(pairs)
    seen_sources, seen_references = sides(corpus.splits["train"][: len(pairs)])
    outputs = {f"beam {beam}": translator.translate(sources, beam_size=beam, split=False) for beam in BEAMS}
    best = outputs[f"beam {BEAMS[-1]}"]
    seen = translator.translate(seen_sources, beam_size=BEAMS[-1], split=False)
    results = {
        "systems": compare(outputs, references),
        "same output": same_output(best, references),
        "by length": by_length(pairs, best),
        "another reference": another_reference(pairs, best),
        "training sentences": sacrebleu_13a(seen, seen_references).bleu,
    }
    write_result("scores_en-de", results)


if __name__ == "__main__":
    main()
