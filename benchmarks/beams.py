"""What do wider beams do to the translations of held-out sentences?

    python -m benchmarks.beams --data DIR

The shipped English–German model translates the first 200 sentences of Tatoeba's test split with beams of 1
to 64, with each of three length penalties. Exact search finds the most likely of all translations, unless it
would have to continue more than 4,096 prefixes of a length. Sentences are searched one at a time, so the
result does not depend on how they are batched. The chapter on decoding shows it; it contains no sentences.
"""

from typing import Any

import torch

from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.exact import exact_search
from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty, PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import sacrebleu_13a
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import EOS_ID
from benchmarks.record import RESULTS, begin, data_parser, write_result

SENTENCES, BEAMS = 200, (1, 2, 4, 8, 16, 32, 64)
PENALTIES: dict[str, LengthPenalty] = {"none": PlainLength(0.0), "gnmt": GnmtLength(), "mean": PlainLength()}
EQUAL = 1e-3  # log-probabilities of the same target, computed in different orders


def search(
    translator: Translator, sources: list[torch.Tensor], size: int, penalty: LengthPenalty
) -> tuple[list[list[int]], list[float]]:
    """Return the ids and the log-probability of the best hypothesis for each source."""
    ids, log_probs = [], []
    for src in sources:
        best = beam_search(
            translator.model, src, beam_size=size, length_penalty=penalty, decoder=FastKeyValueCache
        )
        ids.append(best.ids[0].tolist())
        log_probs.append(best.log_probs.item())
    return ids, log_probs


def optima(translator: Translator, sources: list[torch.Tensor]) -> list[tuple[float, int] | None]:
    """Return the log-probability and length of each most likely target; None where it takes too long."""
    found: list[tuple[float, int] | None] = []
    for src in sources:
        try:
            best = exact_search(translator.model, src, decoder=FastKeyValueCache)
        except ValueError:  # too many prefixes; all other errors would have come up in beam search
            found.append(None)
        else:
            found.append((best.log_prob, len(best.ids)))
    return found


def measure(translator: Translator, pairs: list[SentencePair]) -> dict[str, Any]:
    """Return a row for each beam size, and how many most likely targets were found."""
    texts, references = map(list, zip(*pairs, strict=True))
    sources = [torch.tensor([ids]) for ids in translator.encode(texts).ids]
    # The targets' ids begin with BOS, which no hypothesis has.
    tokens = sum(len(ids) - 1 for ids in translator.tokenizer.encode_target(references))
    exact = optima(translator, sources)
    rows: list[dict[str, Any]] = []
    for size in BEAMS:
        row: dict[str, Any] = {"beam": size, "bleu": {}, "length_ratio": {}, "empty": {}}
        for name, penalty in PENALTIES.items():
            ids, log_probs = search(translator, sources, size, penalty)
            row["bleu"][name] = sacrebleu_13a(translator.tokenizer.decode(ids), references).bleu
            row["length_ratio"][name] = sum(map(len, ids)) / tokens
            row["empty"][name] = sum(each[0] == EOS_ID for each in ids)
            if name == "none":
                found = zip(exact, log_probs, strict=True)
                row["search_errors"] = sum(e is not None and e[0] - p > EQUAL for e, p in found)
        rows.append(row)
        print(row, flush=True)
    proved = [each for each in exact if each is not None]
    empty = sum(length == 1 for _, length in proved)
    return {"sentences": len(pairs), "proved": len(proved), "empty_optima": empty, "rows": rows}


def main() -> None:
    """Translate and write the result."""
    options = begin(data_parser(__doc__))
    pairs = load_corpus("tatoeba", folder=options.data).splits["test"][:SENTENCES]
    results = measure(Translator.from_pretrained("en-de"), pairs)
    write_result(RESULTS / "beams.json", seed=0, results=results)


if __name__ == "__main__":
    main()
