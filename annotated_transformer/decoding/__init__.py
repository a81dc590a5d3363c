"""From a trained model to translations: the inference part of section 6.1 of the paper."""

from typing import TYPE_CHECKING

from annotated_transformer.lazy_names import lazy

if TYPE_CHECKING:  # imported on first use: a caller needs only part of it
    from annotated_transformer.decoding.beam import Hypotheses, beam_search
    from annotated_transformer.decoding.exact import exact_search
    from annotated_transformer.decoding.greedy import greedy_search
    from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache
    from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
    from annotated_transformer.decoding.sampling import Temperature, TopK, TopP, sample
    from annotated_transformer.decoding.translator import RankedTranslation, Translation, Translator
    from annotated_transformer.model.trainable import DecodeAgain

EXPORTS = {  # by module
    "decoding.beam": "Hypotheses beam_search",
    "decoding.exact": "exact_search",
    "decoding.greedy": "greedy_search",
    "decoding.kv_cache": "KeyValueCache NoCache",
    "decoding.length_penalty": "GnmtLength PlainLength",
    "decoding.sampling": "Temperature TopK TopP sample",
    "decoding.translator": "RankedTranslation Translation Translator",
    "model.trainable": "DecodeAgain",
}

__all__ = [
    "DecodeAgain",
    "GnmtLength",
    "Hypotheses",
    "KeyValueCache",
    "NoCache",
    "PlainLength",
    "RankedTranslation",
    "Temperature",
    "TopK",
    "TopP",
    "Translation",
    "Translator",
    "beam_search",
    "exact_search",
    "greedy_search",
    "sample",
]

__getattr__, __dir__ = lazy(__name__, EXPORTS)
