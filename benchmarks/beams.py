"""What do wider beams do to the translations of held-out sentences?

    python -m benchmarks.beams --data DIR

The shipped English–German model translates the first 200 sentences of Tatoeba's test split with beams of 1
to 64, with each of three length penalties. Exact search finds the most likely of all translations, unless it
would have to continue more than 4,096 prefixes of a length. Sentences are searched one at a time, so the
result does not depend on how they are batched. The chapter on decoding shows it; it contains no sentences.
"""

from functools import partial
from typing import Any

import torch

from annotated_transformer import Transformer, Translator, load_corpus
from annotated_transformer.decoding import GnmtLength, PlainLength, beam_search, exact_search
from annotated_transformer.decoding.exact import MostLikely
from annotated_transformer.decoding.length_penalty import LengthPenalty
from annotated_transformer.evaluation import sacrebleu_13a
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.tokenizer import EOS_ID
from benchmarks.quality import sides
from benchmarks.record import begin, write_result

SENTENCES, BEAMS = 200, (1, 2, 4, 8, 16, 32, 64)
PENALTIES: dict[str, LengthPenalty] = {"none": PlainLength(0.0), "gnmt": GnmtLength(), "mean": PlainLength()}
EQUAL = 1e-3  # log-probabilities of the same target, computed in different orders


def optimum(model: Transformer, src: torch.Tensor) -> MostLikely | None:
    """Return the most likely target; None where it takes too long."""
    try:
        return exact_search(model, src, decoder=FastKeyValueCache)
    except ValueError:  # too many prefixes; all other errors would have come up in beam search
        return None


def measure(translator: Translator, pairs: list[SentencePair]) -> dict[str, Any]:
    """Return a row for each beam size, and how many most likely targets were found."""
    model, (texts, references) = translator.model, sides(pairs)
    sources = [torch.tensor([ids]) for ids in translator.encode(texts).ids]
    # The targets' ids begin with BOS, which no hypothesis has.
    tokens = sum(len(ids) - 1 for ids in translator.tokenizer.encode_target(references))
    optima = [optimum(model, src) for src in sources]
    rows: list[dict[str, Any]] = []
    for size in BEAMS:
        row: dict[str, Any] = {"beam": size, "bleu": {}, "length_ratio": {}, "empty": {}}
        for name, penalty in PENALTIES.items():
            search = partial(beam_search, model, beam_size=size, length_penalty=penalty)
            best = [search(src, decoder=FastKeyValueCache) for src in sources]
            ids = [hypotheses.ids[0].tolist() for hypotheses in best]
            row["bleu"][name] = sacrebleu_13a(translator.tokenizer.decode(ids), references).bleu
            row["length_ratio"][name] = sum(map(len, ids)) / tokens
            row["empty"][name] = sum(each[0] == EOS_ID for each in ids)
            if name == "none":
                log_probs = [hypotheses.log_probs.item() for hypotheses in best]
                row["search_errors"] = sum(
                    exact is not None and exact.log_prob - log_prob > EQUAL
                    for exact, log_prob in zip(optima, log_probs, strict=True)
                )
        rows.append(row)
        print(row, flush=True)
    proved = [exact for exact in optima if exact is not None]
    empty = sum(len(exact.ids) == 1 for exact in proved)
    return {"sentences": len(pairs), "proved": len(proved), "empty_optima": empty, "rows": rows}


def main() -> None:
    """Translate and write the result."""
    options = begin(__doc__, "data")
    pairs = load_corpus("tatoeba", folder=options.data).splits["test"][:SENTENCES]
    write_result("beams", measure(Translator.from_pretrained("en-de"), pairs))


if __name__ == "__main__":
    main()
