"""Score the translations of the English–German model in several ways, for the chapter on translation.

    python -m benchmarks.scores --data DIR

`DIR` is the folder of Tatoeba. The result has scores and counts only, no sentences. Intervals are those of
sacreBLEU: 95 % of the scores of 1,000 test sets drawn with replacement are within `mean` ± `ci`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import multi30k_bleu, sacrebleu_13a
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.moses import moses_lowercase
from annotated_transformer.text.sentence_pairs import SentencePair
from benchmarks.record import RESULTS, begin, data_parser, write_result

SAMPLES = 1000
LENGTHS = ((1, 4), (5, 8), (9, 12), (13, 10_000))  # words of the source
BEAMS = (1, 5)

Found = dict[str, object]
Scores = dict[str, dict[str, float | None]]  # by metric


def same_output(hypotheses: list[str], references: list[str], language: str) -> dict[str, float]:
    """Return the BLEU of the same translations, computed in several ways."""
    ways = {
        "cased, 13a": BLEU(),
        "lowercased, 13a": BLEU(lowercase=True),
        "cased, not tokenized": BLEU(tokenize="none", force=True),
        "cased, characters": BLEU(tokenize="char"),
    }
    found = {name: way.corpus_score(hypotheses, [references]).score for name, way in ways.items()}
    each = BLEU(effective_order=True)
    scores = [
        each.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    return found | {
        "lowercased, Moses": multi30k_bleu(hypotheses, references, language).bleu,
        "mean of sentences, 13a": sum(scores) / len(scores),
    }


def compare(outputs: dict[str, list[str]], references: list[str], language: str) -> dict[str, Scores]:
    """Return each system's scores with intervals, and p-values against the first one (paired bootstrap)."""
    found = paired(outputs, references, {"13a": BLEU(), "chrF": CHRF()})
    prepared = {name: [moses_lowercase(text, language) for text in texts] for name, texts in outputs.items()}
    wanted = [moses_lowercase(text, language) for text in references]
    moses = BLEU(tokenize="none", smooth_method="none", force=True)  # as in multi30k_bleu
    for name, scores in paired(prepared, wanted, {"Moses": moses}).items():
        found[name] |= scores
    return found


def paired(
    outputs: Mapping[str, list[str]], references: list[str], metrics: dict[str, Metric]
) -> dict[str, Scores]:
    """Return each system's scores by each metric, with intervals and p-values against the first system."""
    found: dict[str, Scores] = {name: {} for name in outputs}
    for metric, measure in metrics.items():
        systems: list[tuple[str, Sequence[str]]] = list(outputs.items())
        test = PairedTest(systems, {metric: measure}, [references], test_type="bs", n_samples=SAMPLES)
        (column,) = (values for name, values in test()[1].items() if name != "System")
        for name, result in zip(outputs, column, strict=True):
            assert isinstance(result, Result)
            found[name][metric] = {
                "score": float(result.score),
                "mean": float(result.mean or 0),
                "ci": float(result.ci or 0),
                "p": None if result.p_value is None else float(result.p_value),
            }
    return found


def by_length(pairs: list[SentencePair], hypotheses: list[str]) -> list[Found]:
    """Return the BLEU of short and of long sources, and how often the translation equals the reference."""
    found: list[Found] = []
    for low, high in LENGTHS:
        rows = [
            (hypothesis, reference)
            for (source, reference), hypothesis in zip(pairs, hypotheses, strict=True)
            if low <= len(source.split()) <= high
        ]
        if not rows:
            continue
        ours, theirs = map(list, zip(*rows, strict=True))
        score = BLEU().corpus_score(ours, [theirs], n_bootstrap=SAMPLES)
        found.append({
            "from": low,
            "to": high,
            "texts": len(rows),
            "bleu": score.score,
            "ci": float(score._ci),
            "exact": sum(ours == theirs for ours, theirs in rows),
        })  # fmt: skip
    return found


def another_reference(pairs: list[SentencePair], hypotheses: list[str]) -> Found:
    """Compare the model with people, on the sources for which the split has several translations.

    The first translation of a source is its reference, and the second one is scored as if a system had
    written it. The model is scored against the first, and against all of them.
    """
    translations: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        translations[source].append(target)
    written = {source: text for (source, _), text in zip(pairs, hypotheses, strict=True)}
    several = {source: texts for source, texts in translations.items() if len(texts) > 1}
    model = [written[source] for source in several]
    first, second = ([texts[place] for texts in several.values()] for place in (0, 1))
    most = max(map(len, several.values()))
    every = [
        [texts[place] if place < len(texts) else None for texts in several.values()] for place in range(most)
    ]
    exact = sum(text in texts for text, texts in zip(model, several.values(), strict=True))
    return {
        "sources": len(translations),
        "sources with several": len(several),
        "second person against first": sacrebleu_13a(second, first).bleu,
        "model against first": sacrebleu_13a(model, first).bleu,
        "model against all": BLEU().corpus_score(model, every).score,  # type: ignore[arg-type]
        "model equals first": sum(a == b for a, b in zip(model, first, strict=True)),
        "model equals one of them": exact,
    }


def main() -> None:
    """Translate the test split, and write the scores."""
    options = begin(data_parser(__doc__))
    corpus, translator = load_corpus("tatoeba", folder=options.data), Translator.from_pretrained("en-de")
    pairs = corpus.splits["test"]
    seen = corpus.splits["train"][: len(pairs)]
    sources, references = map(list, zip(*pairs, strict=True))
    outputs = {f"beam {beam}": translator.translate(sources, beam_size=beam, split=False) for beam in BEAMS}
    best = outputs[f"beam {BEAMS[-1]}"]
    results = {
        "texts": len(pairs),
        "systems": compare(outputs, references, "de"),
        "same output": same_output(best, references, "de"),
        "exact": sum(ours == theirs for ours, theirs in zip(best, references, strict=True)),
        "by length": by_length(pairs, best),
        "another reference": another_reference(pairs, best),
        "references of the next line": sacrebleu_13a(best, references[1:] + references[:1]).bleu,
        "training sentences": sacrebleu_13a(
            translator.translate([source for source, _ in seen], beam_size=BEAMS[-1], split=False),
            [target for _, target in seen],
        ).bleu,
    }
    write_result(RESULTS / "scores_en-de.json", seed=0, results=results)


if __name__ == "__main__":
    main()
