"""Byte-pair encoding shared by both languages: section 5.1 of the paper, the chapter on tokens."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import compress

import tokenizers
import torch
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.cleaning import INVISIBLE, LONE_MARKS, VARIANTS, WHITE_SPACE
from annotated_transformer.whole_numbers import whole_number

PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)
LARGEST = 2**22  # entries; the library allocates memory for all of them, and aborts if that fails
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")  # in the order of their ids


def encoding_problem(text: str) -> str:
    """Return why a text cannot be encoded as UTF-8, or an empty string."""
    surrogate = re.search("[\ud800-\udfff]", text)
    if surrogate is None:
        return ""
    if "\udc80" <= surrogate[0] <= "\udcff":  # a byte that was decoded by "surrogateescape"
        place = len(text[: surrogate.start()].encode()) + 1
        return f"is not UTF-8 (byte {place} is {ord(surrogate[0]) - 0xDC00:#04x}); convert it to UTF-8"
    return f"is not valid Unicode: it has half of a surrogate pair ({text[:40]!r}); decode it as UTF-8"


def refuse_surrogates(texts: Sequence[str]) -> None:
    """Refuse texts that UTF-8 cannot encode."""
    for index, text in enumerate(texts, start=1):
        if problem := encoding_problem(text):
            raise ValueError(f"text {index} of {len(texts)} {problem}")


def cleaning_steps() -> list[normalizers.Normalizer]:
    """Return what normalizes a text as `clean` does, one step after another."""
    variants: dict[str, str] = {}  # of each plain form
    for variant, plain in VARIANTS.items():
        variants[plain] = variants.get(plain, "") + variant
    return [
        normalizers.Replace(Regex(INVISIBLE), ""),
        *(normalizers.Replace(Regex(f"[{forms}]"), plain) for plain, forms in variants.items()),
        normalizers.NFC(),
        normalizers.Replace(Regex(LONE_MARKS), ""),
        normalizers.Replace(Regex(f"[{WHITE_SPACE}]+"), " "),
        normalizers.Strip(),
    ]


@refuses_other_kinds
class Tokenizer:
    """Encodes sentences of either language as ids of one vocabulary, and decodes ids.

    Text is normalized first: put into Unicode's composed form (NFC) and stripped of white space at
    both ends, or made `clean` by a tokenizer from `cleaning`. After that, nothing is lost in any
    script, because the alphabet is the 256 bytes: decoding the ids gives the normalized text. The
    strings `<pad>`, `<bos>`, `<eos>` and `<unk>` in a text are ordinary text. `<unk>` has an id by
    convention, but is not used.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        ids = tuple(backend.token_to_id(token) for token in SPECIAL_TOKENS)
        if ids != (PAD_ID, BOS_ID, EOS_ID, UNK_ID):
            raise ValueError(
                f"the tokenizer gives {SPECIAL_TOKENS} the ids {ids}, but "
                f"{(PAD_ID, BOS_ID, EOS_ID, UNK_ID)} are needed; make it with Tokenizer.train"
            )
        backend.encode_special_tokens = True  # "<eos>" in a text is five characters, not the token
        self._backend, self._size = backend, backend.get_vocab_size()  # counting is slow

    @classmethod
    @refuses_other_kinds
    def train(cls, texts: Iterable[str], *, vocab_size: int) -> "Tokenizer":
        """Learn the merges from `texts` of both languages; the result is deterministic.

        On a small corpus, the vocabulary may have fewer than `vocab_size` entries.

        Raises:
            ValueError: If the texts are empty or not valid Unicode, or `vocab_size` is too small for the
                bytes or too large.
        """
        texts = list(texts)
        refuse_surrogates(texts)
        if not any(text.strip() for text in texts):
            raise ValueError(f"the corpus is empty ({len(texts)} texts, none with a word); give some text")
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        smallest = len(SPECIAL_TOKENS) + len(alphabet)
        if whole_number(vocab_size) is None or vocab_size > LARGEST:
            raise ValueError(
                f"vocab_size={vocab_size!r} is not a whole number up to {LARGEST:,}; choose "
                "a smaller one, such as the paper's 37,000"
            )
        if vocab_size < smallest:
            raise ValueError(
                f"vocab_size={vocab_size} has no room for {len(SPECIAL_TOKENS)} special tokens and "
                f"{len(alphabet)} bytes; give at least {smallest}"
            )
        backend = tokenizers.Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS[UNK_ID]))
        backend.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Strip()])
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=2,
            special_tokens=list(SPECIAL_TOKENS),
            initial_alphabet=alphabet,
            show_progress=False,
        )
        backend.train_from_iterator(texts, trainer)
        return cls(backend)

    def __repr__(self) -> str:
        """Name the size of the vocabulary, and whether texts are cleaned."""
        return f"{type(self).__name__}(vocab_size={self.vocab_size}, cleans={self.cleans})"

    def cleaning(self) -> "Tokenizer":
        """Return this tokenizer with `clean` as its normalization, for a corpus with cleaned sentences.

        The normalization is saved with the tokenizer, so a saved model cleans the texts to translate.
        """
        backend = tokenizers.Tokenizer.from_str(self._backend.to_str())
        backend.normalizer = normalizers.Sequence(cleaning_steps())
        return Tokenizer(backend)

    def with_dropout(self, p: float, generator: torch.Generator) -> "Tokenizer":
        """Return this tokenizer without some of its merges, each left out with probability `p`.

        It has the same ids, and encodes texts with more and smaller tokens: BPE dropout (Provilkov et
        al., 2020), with one draw for all texts that the new tokenizer encodes. The library's own BPE
        dropout has no seed.

        Raises:
            ValueError: If `p` is not in [0, 1).
        """
        if not 0 <= p < 1:
            raise ValueError(f"p={p} is not a probability for leaving out a merge; give 0 or more, below 1")
        parts = json.loads(self._backend.to_str())
        merges = parts["model"]["merges"]
        keep = (torch.rand(len(merges), generator=generator) >= p).tolist()
        parts["model"]["merges"] = [*compress(merges, keep)]
        return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(parts)))

    def __reduce__(self) -> tuple[Callable[[str], "Tokenizer"], tuple[str]]:
        """Copy and pickle through JSON: the library's own copies read "<eos>" in a text as the token."""
        return type(self).from_json, (self.to_json(),)

    @property
    def cleans(self) -> bool:
        """Whether `clean` is part of the normalization, as in a tokenizer from `cleaning`."""
        return self.normalize("„") == '"'

    @property
    def vocab_size(self) -> int:
        """Count the ids, special tokens included."""
        return self._size

    def normalize(self, text: str) -> str:
        """Return the normalized text, as the model sees it."""
        return self._backend.normalizer.normalize_str(text)

    def split_code(self, text: str) -> tuple[str, str]:
        """Return the code of a target language at the start of a source (here, none), and the rest."""
        return "", text

    def code_problem(self, text: str) -> str:
        """Return why the code of a target language at the start of a text is unknown, or an empty string."""
        code, _ = self.split_code(text)
        if not code or code in (vocabulary := self.vocabulary()):
            return ""
        known = [piece for piece in vocabulary if self.split_code(piece) == (piece, "")]
        way_out = (
            f"give another, such as {', '.join(known[:5])}" if known else "leave it out, since there is none"
        )
        return f"begins with {code}, which is no code of this model; {way_out}"

    @refuses_other_kinds
    def encode_source(self, texts: list[str]) -> list[list[int]]:
        """Return the ids of each text, with EOS: the input of the encoder."""
        return [[*ids, EOS_ID] for ids in self._encode("source", texts)]

    @refuses_other_kinds
    def encode_target(self, texts: list[str]) -> list[list[int]]:
        """Return the ids of each text between BOS and EOS: the input and the labels of the decoder."""
        return [[BOS_ID, *ids, EOS_ID] for ids in self._encode("target", texts)]

    def decode(self, sequences: list[list[int]]) -> list[str]:
        """Return the text of each sequence of ids, without the special tokens.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        for ids in sequences:
            self._refuse_unknown(ids)
        texts = self._backend.decode_batch(sequences, skip_special_tokens=True)
        return [text.removeprefix(" ") for text in texts]  # ByteLevel puts a space before the first word

    def tokens(self, ids: list[int]) -> list[str]:
        """Return the text of each id; a part of a character is shown as `\ufffd`.

        A token at the start of a word begins with a space.

        Raises:
            ValueError: If an id is not in the vocabulary.
        """
        self._refuse_unknown(ids)
        show = self._backend.decoder.decode
        return [show([self._backend.id_to_token(id_)]) for id_ in ids]

    def vocabulary(self) -> list[str]:
        """Return the stored string of each id, in which a byte is one character: a space is `Ġ`."""
        tokens = (self._backend.id_to_token(id_) for id_ in range(self.vocab_size))
        return [token or "" for token in tokens]  # a vocabulary without gaps has no None

    def merges(self) -> list[tuple[str, str]]:
        """Return the pairs of stored strings that are merged, in the order in which they were learned."""
        return [(one, other) for one, other in json.loads(self._backend.to_str())["model"].get("merges", [])]

    def to_json(self) -> str:
        """Return the whole tokenizer as JSON, in the `tokenizers` library's own format."""
        return self._backend.to_str(pretty=True)

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Return the tokenizer that `to_json` wrote; `saved_tokenizer` takes that of any kind."""
        try:
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library has no more specific exception
            raise not_a_tokenizer(error) from error
        return cls(backend)

    def _refuse_unknown(self, ids: list[int]) -> None:
        kinds = {type(id_).__name__ for id_ in ids} - {"int"} if isinstance(ids, list) else set()
        if kinds or not isinstance(ids, list):
            actual = f"list of {kinds.pop()}" if kinds else type(ids).__name__
            raise TypeError(f"ids are of type {actual}, not a list of int; give tensor.tolist()")
        if ids and not 0 <= min(ids) <= max(ids) < self.vocab_size:
            raise ValueError(
                f"ids {min(ids)} to {max(ids)} do not fit a vocabulary of {self.vocab_size}, 0 to "
                f"{self.vocab_size - 1}; give ids of this tokenizer"
            )

    def _encode(self, side: str, texts: list[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return [encoding.ids for encoding in self._backend.encode_batch(texts, add_special_tokens=False)]


def not_a_tokenizer(error: Exception) -> ValueError:
    """Return the error that a text is not what `to_json` wrote."""
    return ValueError(f"this is not the JSON of a tokenizer ({error}); give what Tokenizer.to_json wrote")
