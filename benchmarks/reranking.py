"""Does a model for the opposite direction choose better translations from an n-best list?

    python -m benchmarks.reranking --data DIR

The shipped English–German model finds the 8 best translations of each of the first 1,000 sentences of
Tatoeba's test split, with a beam of 8 and the paper's length penalty. Then the translation is chosen whose
log-probability, plus that of the source given the translation by the German–English model, is largest. For
comparison, so is the translation with the highest chrF, which needs the reference. The chapter on decoding
shows the result; it contains no sentences.
"""

import argparse
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result
from torch.nn.utils.rnn import pad_sequence

from annotated_transformer.decoding.translator import RankedTranslation, Translator
from annotated_transformer.inspection.observation import observe
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import EOS_ID
from benchmarks.record import RESULTS, describe_code, write_result

SENTENCES, SIZE, SAMPLES = 1000, 8, 1000


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


def choose(ranked: Sequence[RankedTranslation], back: Sequence[float]) -> str:
    """Return the translation with the largest sum of both log-probabilities; of equals, the first."""
    sums = [each.log_prob + log_prob for each, log_prob in zip(ranked, back, strict=True)]
    return ranked[sums.index(max(sums))].text


def measure(forward: Translator, backward: Translator, pairs: list[SentencePair]) -> dict[str, Any]:
    """Return the BLEU of the first translations, of the chosen ones, and of the closest to the reference."""
    sources, references = map(list, zip(*pairs, strict=True))
    lists = forward.nbest(sources, SIZE, beam_size=SIZE)
    first = [ranked[0].text for ranked in lists]
    chosen = [
        choose(ranked, back_log_probs(backward, [each.text for each in ranked], source))
        for ranked, source in zip(lists, sources, strict=True)
    ]
    chrf = CHRF()
    closest = [
        max((each.text for each in ranked), key=lambda text: chrf.sentence_score(text, [reference]).score)
        for ranked, reference in zip(lists, references, strict=True)
    ]
    outputs = {"first": first, "chosen": chosen, "closest": closest}
    systems: list[tuple[str, Sequence[str]]] = [("first", first), ("chosen", chosen)]
    test = PairedTest(systems, {"BLEU": BLEU()}, [references], test_type="bs", n_samples=SAMPLES)
    (column,) = (values for name, values in test()[1].items() if name != "System")
    paired = column[1]
    assert isinstance(paired, Result)
    assert paired.p_value is not None
    return {
        "sentences": len(pairs),
        "size": SIZE,
        "bleu": {name: BLEU().corpus_score(texts, [references]).score for name, texts in outputs.items()},
        "changed": sum(a != b for a, b in zip(first, chosen, strict=True)),
        "p": float(paired.p_value),
    }


def main() -> None:
    """Translate, choose, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds Tatoeba")
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(1)
    pairs = load_corpus("tatoeba", folder=options.data).splits["test"][:SENTENCES]
    results = measure(Translator.from_pretrained("en-de"), Translator.from_pretrained("de-en"), pairs)
    print(results)
    write_result(RESULTS / "reranking.json", seed=0, results=results)


if __name__ == "__main__":
    main()
