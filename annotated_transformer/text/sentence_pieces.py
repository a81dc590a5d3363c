"""Tokenizers of SentencePiece models, which segment source and target differently: those of Marian."""

import json
from collections.abc import Sequence

import torch
from tokenizers import AddedToken, decoders, models, normalizers
from tokenizers import Tokenizer as Backend

from annotated_transformer.text.cleaning import set_aside
from annotated_transformer.text.tokenizer import (
    SPECIAL_TOKENS,
    UNK_ID,
    Tokenizer,
    cleaning_steps,
    not_a_tokenizer,
    refuse_surrogates,
)

SPACE = "▁"  # how pieces write a space
CODE = (">>", "<<")  # around the target language at the start of a source, such as >>deu<<
SIDES = ("source", "target")


class SentencePieceTokenizer(Tokenizer):
    """A `Tokenizer` of two SentencePiece models: one segments sources, the other targets.

    Both look their pieces up in one vocabulary. What is not in it becomes `<unk>`, so decoding does not
    always give the normalized text, unlike that of byte-pair encoding. A code such as `>>deu<<` at the
    start of a text is one token: some models need it to know the language of the target.
    """

    def __init__(self, vocabulary: Sequence[str], source: Backend, target: Backend) -> None:
        """Take the string of each id, and two segmentations, whose own ids do not matter."""
        ids = {piece: id_ for id_, piece in enumerate(vocabulary)}
        if len(ids) < len(vocabulary):
            twice = next(piece for id_, piece in enumerate(vocabulary) if ids[piece] != id_)
            raise ValueError(f"two ids of the vocabulary have the string {twice!r}; give each its own")
        backend = Backend(models.WordLevel(ids, unk_token=SPECIAL_TOKENS[UNK_ID]))
        backend.normalizer, backend.decoder = source.normalizer, decoders.Metaspace(SPACE)
        backend.add_special_tokens([AddedToken(token) for token in SPECIAL_TOKENS])
        super().__init__(backend)
        self._sides = dict(zip(SIDES, (source, target), strict=True))
        self._ids = {piece: id_ for piece, id_ in ids.items() if piece not in SPECIAL_TOKENS}

    def split_code(self, text: str) -> tuple[str, str]:
        """Return the code of a target language at the start of a source, if there is one, and the rest.

        If this tokenizer cleans, the code may follow decorations, which are then at the start of the rest.
        """
        before, start, behind = text.partition(CODE[0])
        code, end, rest = behind.partition(CODE[1])
        if not (start and end) or (set_aside(before + "a")[1] != "a" if self.cleans else before.strip()):
            return "", text
        return start + code + end, before.strip() + rest

    def decode(self, sequences: list[list[int]]) -> list[str]:
        """Return the text of each sequence of ids, without the special tokens, and without outer spaces."""
        return [text.strip() for text in super().decode(sequences)]

    def tokens(self, ids: list[int]) -> list[str]:
        """Return the text of each id; a token at the start of a word begins with a space."""
        self._refuse_unknown(ids)
        return [str(self._backend.id_to_token(id_)).replace(SPACE, " ") for id_ in ids]

    def cleaning(self) -> "Tokenizer":
        """Return this tokenizer with `clean` before the normalization of both models."""
        sides = [Backend.from_str(side.to_str()) for side in self._sides.values()]
        for side in sides:
            side.normalizer = normalizers.Sequence([*cleaning_steps(), side.normalizer])
        return SentencePieceTokenizer(self.vocabulary(), *sides)

    def with_dropout(self, p: float, generator: torch.Generator) -> "Tokenizer":
        """Refuse to: there are no merges to leave out."""
        raise ValueError(f"p={p}, but a tokenizer of SentencePiece has no merges to leave out; give 0")

    def to_json(self) -> str:
        """Return the whole tokenizer as JSON; each side is in the `tokenizers` library's own format."""
        sides = {name: json.loads(side.to_str()) for name, side in self._sides.items()}
        return json.dumps({"vocabulary": self.vocabulary(), **sides}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "SentencePieceTokenizer":
        """Return the tokenizer that `to_json` wrote."""
        try:
            parts = json.loads(text)
            return cls(parts["vocabulary"], *(Backend.from_str(json.dumps(parts[name])) for name in SIDES))
        except Exception as error:  # the library has no more specific exception
            raise not_a_tokenizer(error) from error

    def _encode(self, side: str, texts: list[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        codes, rests = zip(*map(self.split_code, texts), strict=True) if texts else ((), ())
        encoded = self._sides[side].encode_batch(rests, add_special_tokens=False)
        pieces = (
            [code] * bool(code) + encoding.tokens for code, encoding in zip(codes, encoded, strict=True)
        )
        return [[self._ids.get(piece, UNK_ID) for piece in of_text] for of_text in pieces]


def saved_tokenizer(text: str) -> Tokenizer:
    """Return the tokenizer whose `to_json` wrote this; that of two models has a `vocabulary`."""
    try:
        parts = json.loads(text)
    except ValueError as error:
        raise not_a_tokenizer(error) from error
    two_sides = isinstance(parts, dict) and "vocabulary" in parts
    return (SentencePieceTokenizer if two_sides else Tokenizer).from_json(text)
