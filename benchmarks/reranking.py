"""Does a model for the opposite direction choose better translations from an n-best list?

    python -m benchmarks.reranking --data DIR

The shipped English–German model finds the 8 best translations of each of the first 1,000 sentences of
Tatoeba's test split, with a beam of 8 and the paper's penalty. They are ranked in this order (`first`),
by log-probability without a penalty, by the sum with the log-probability of the source given the translation
(German–English model), and by this sum with both divided by the penalty. For comparison, `closest` is the
translation with the highest chrF, which needs the reference. P-values are those of a paired bootstrap against
`first`. The chapter on decoding shows the result; it contains no sentences.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from torch.nn.utils.rnn import pad_sequence

from annotated_transformer.decoding.length_penalty import GnmtLength
from annotated_transformer.decoding.translations import RankedTranslation
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.observation import observe
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import EOS_ID
from benchmarks.record import RESULTS, begin, data_parser, write_result
from benchmarks.scores import paired

SENTENCES, SIZE = 1000, 8


def back_log_probs(backward: Translator, translations: list[str], source: str) -> list[float]:
    """Return the log-probability of the source, given each of its translations."""
    # An empty translation has no ids; as a source, it is the end alone.
    given = [torch.tensor(ids or [EOS_ID]) for ids in backward.encode(translations).ids]
    pad_id = backward.model.config.pad_id
    src = pad_sequence(given, batch_first=True, padding_value=pad_id)
    (ids,) = backward.tokenizer.encode_target([source])
    tgt = torch.tensor([ids[1:]]).expand(len(src), -1)  # without BOS
    with torch.inference_mode():
        return [float(log_prob) for log_prob in observe(backward.model, src, tgt).log_probs]


def rankings(
    ranked: Sequence[RankedTranslation], back: Sequence[float], length: int
) -> dict[str, list[float]]:
    """Return what each translation of a source of `length` tokens is ranked by, in four ways."""
    divisor = GnmtLength()(torch.tensor(length)).item()
    pairs = list(zip(ranked, back, strict=True))
    return {
        "first": [each.penalized_log_prob for each in ranked],
        "log p": [each.log_prob for each in ranked],
        "sum": [each.log_prob + log_prob for each, log_prob in pairs],
        "penalized sum": [each.penalized_log_prob + log_prob / divisor for each, log_prob in pairs],
    }


def measure(forward: Translator, backward: Translator, pairs: list[SentencePair]) -> dict[str, Any]:
    """Return each ranking's BLEU, p-value against the first one, and number of changed translations."""
    sources, references = map(list, zip(*pairs, strict=True))
    chrf, outputs = CHRF(), defaultdict[str, list[str]](list)
    for ranked, (source, reference) in zip(forward.nbest(sources, SIZE, beam_size=SIZE), pairs, strict=True):
        texts = [each.text for each in ranked]
        (ids,) = backward.tokenizer.encode_source([source])
        values_of = rankings(ranked, back_log_probs(backward, texts, source), len(ids))
        values_of["closest"] = [chrf.sentence_score(text, [reference]).score for text in texts]
        for name, values in values_of.items():
            outputs[name].append(texts[values.index(max(values))])
    ways = {
        name: {
            "bleu": scores["BLEU"]["score"],
            "p": scores["BLEU"]["p"],
            "changed": sum(a != b for a, b in zip(outputs["first"], outputs[name], strict=True)),
        }
        for name, scores in paired(outputs, references, {"BLEU": BLEU()}).items()
    }
    return {"sentences": len(pairs), "size": SIZE, "ways": ways}


def main() -> None:
    """Translate, choose, and write the result."""
    options = begin(data_parser(__doc__))
    pairs = load_corpus("tatoeba", folder=options.data).splits["test"][:SENTENCES]
    results = measure(Translator.from_pretrained("en-de"), Translator.from_pretrained("de-en"), pairs)
    print(results)
    write_result(RESULTS / "reranking.json", seed=0, results=results)


if __name__ == "__main__":
    main()
