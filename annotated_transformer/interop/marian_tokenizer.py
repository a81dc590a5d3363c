"""The tokenizer in the folder of a Marian model: ours, or one of two SentencePiece models."""

import json
from pathlib import Path
from typing import Any

from annotated_transformer.config import TransformerConfig
from annotated_transformer.interop.libraries import not_carried_over
from annotated_transformer.interop.spm_files import read_spm
from annotated_transformer.text.sentence_pairs import Languages
from annotated_transformer.text.sentence_pieces import SentencePieceTokenizer
from annotated_transformer.text.tokenizer import EOS_ID, SPECIAL_TOKENS, Tokenizer

TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"
VOCABULARY, SIDES = "vocab.json", ("source.spm", "target.spm")
PAD, BOS, EOS, UNK = SPECIAL_TOKENS


def to_fast_tokenizer(
    tokenizer: Tokenizer, config: TransformerConfig, languages: tuple[str, str] | None
) -> dict[str, bytes]:
    """Return the files from which `AutoTokenizer` makes a `PreTrainedTokenizerFast` with the same ids.

    It appends EOS, and decoding omits special tokens and the space before the first word.
    """
    if isinstance(tokenizer, SentencePieceTokenizer):
        raise ValueError(
            "the tokenizer segments sources and targets by two SentencePiece models, which cannot be carried "
            "over: use the folder that the model was imported from"
        )
    parts = json.loads(tokenizer.to_json())
    template = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": EOS, "type_id": 0}}]
    parts["post_processor"] = {
        "type": "TemplateProcessing",
        "single": template,
        "pair": [template[0], {"Sequence": {"id": "B", "type_id": 0}}, template[1]],
        "special_tokens": {EOS: {"id": EOS, "ids": [EOS_ID], "tokens": [EOS]}},
    }
    first_space = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    parts["decoder"] = {"type": "Sequence", "decoders": [parts["decoder"], first_space]}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "bos_token": BOS,
        "eos_token": EOS,
        "unk_token": UNK,
        "model_max_length": config.max_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "split_special_tokens": True,  # "<eos>" in a text is five characters
        "clean_up_tokenization_spaces": False,
    }
    if languages is not None:
        settings |= {"source_lang": languages[0], "target_lang": languages[1]}
    return {TOKENIZER: to_bytes(parts), SETTINGS: to_bytes(settings)}


def from_fast_tokenizer(path: Path) -> Tokenizer:
    """Return our tokenizer from the `tokenizer.json` that `to_fast_tokenizer` wrote."""
    parts = read_json(path)
    parts["post_processor"] = None
    parts["decoder"] = parts["decoder"]["decoders"][0]
    return Tokenizer.from_json(json.dumps(parts))


def from_sentence_pieces(folder: Path, start_id: int, pad_id: int) -> tuple[Tokenizer, list[int]]:
    """Return the tokenizer of Marian's own files, and which of their ids each of our ids stands for.

    Ours begin with the four special tokens, and the others follow in their order. If targets start with a
    token that sources or targets contain, as with `pad_id`, our BOS stands for it, too.
    """
    if read_settings(folder).get("separate_vocabs") or (folder / "target_vocab.json").exists():
        vocabularies = f"{folder} has separate vocabularies for source and target"
        raise not_carried_over(vocabularies, ": our model has one for both")
    ids: dict[str, int] = read_json(folder / VOCABULARY)
    pieces = dict(sorted((id_, piece) for piece, id_ in ids.items()))
    if list(pieces) != list(range(len(ids))):
        raise ValueError(f"{folder / VOCABULARY} does not give each id from 0 to {len(ids) - 1} once")
    special = [pad_id, start_id, ids["</s>"], ids["<unk>"]]
    rows = [*special, *(id_ for id_ in pieces if id_ not in special)]
    vocabulary = [*SPECIAL_TOKENS, *(pieces[id_] for id_ in rows[len(special) :])]
    source, target = (read_spm(folder / name) for name in SIDES)
    return SentencePieceTokenizer(vocabulary, source, target), rows


def read_marian_languages(folder: Path) -> Languages | None:
    """Return the languages that the settings of the tokenizer name, if they name two."""
    settings = read_settings(folder)
    source, target = settings.get("source_lang"), settings.get("target_lang")
    return Languages(source, target) if source and target and source != target else None


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of the tokenizer; there may be none."""
    return read_json(folder / SETTINGS) if (folder / SETTINGS).exists() else {}


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error}); download it again") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} holds a {type(values).__name__}, not an object; download it again")
    return values


def to_bytes(values: dict[str, Any]) -> bytes:
    """Return the bytes of a JSON file."""
    return json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n"
