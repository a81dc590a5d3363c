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
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from annotated_transformer import Translator, load_corpus
from annotated_transformer.decoding import GnmtLength
from annotated_transformer.inspection import observe
from annotated_transformer.text import pad
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import EOS_ID
from benchmarks.quality import sides
from benchmarks.record import begin, write_result
from benchmarks.scores import paired

SENTENCES, SIZE = 1000, 8


@torch.inference_mode()
def back_log_probs(backward: Translator, translations: list[str], source: str) -> list[float]:
    """Return the log-probability of the source, given each of its translations."""
    # An empty translation has no ids; as a source, it is the end alone.
    src = pad([ids or [EOS_ID] for ids in backward.encode(translations).ids])
    (ids,) = backward.tokenizer.encode_target([source])
    tgt = torch.tensor([ids[1:]]).expand(len(src), -1)  # without BOS
    return [float(log_prob) for log_prob in observe(backward.model, src, tgt).log_probs]


def measure(forward: Translator, backward: Translator, pairs: list[SentencePair]) -> dict[str, Any]:
    """Return each ranking's BLEU, p-value against the first one, and number of changed translations."""
    sources, references = sides(pairs)
    chrf, outputs = CHRF(), defaultdict[str, list[str]](list)
    for ranked, (source, reference) in zip(forward.nbest(sources, SIZE, beam_size=SIZE), pairs, strict=True):
        texts = [each.text for each in ranked]
        (ids,) = backward.tokenizer.encode_source([source])
        divisor = GnmtLength()(torch.tensor(len(ids))).item()
        both = [*zip(ranked, back_log_probs(backward, texts, source), strict=True)]
        values_of = {
            "first": [each.penalized_log_prob for each in ranked],
            "log p": [each.log_prob for each in ranked],
            "sum": [each.log_prob + back for each, back in both],
            "penalized sum": [each.penalized_log_prob + back / divisor for each, back in both],
            "closest": [chrf.sentence_score(text, [reference]).score for text in texts],
        }
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
    options = begin(__doc__, "data")
    pairs = load_corpus("tatoeba", folder=options.data).splits["test"][:SENTENCES]
    results = measure(Translator.from_pretrained("en-de"), Translator.from_pretrained("de-en"), pairs)
    write_result("reranking", results)


if __name__ == "__main__":
    main()
