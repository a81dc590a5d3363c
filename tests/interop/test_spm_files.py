"""SentencePiece models in the tokenizers library: the same pieces, and what cannot be carried over."""

from pathlib import Path

import pytest

from annotated_transformer.interop.spm_files import read_spm
from tests.interop.conftest import ODD, train_pieces


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc_cf", "identity"])
def test_oracle_pieces_are_those_of_sentencepiece(sentences, tmp_path: Path, rule: str):
    theirs = train_pieces(tmp_path / "one.spm", sentences[1], normalization_rule_name=rule)
    ours = read_spm(tmp_path / "one.spm")
    texts = [*sentences[1], *ODD, "<s> <unk> </s>", "  outer  and  inner  "]
    assert [ours.encode(text).tokens for text in texts] == theirs.encode(texts, out_type=str)


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "bpe": ({"model_type": "bpe"}, "is of the type BPE, which cannot be carried over: only UNIGRAM can$"),
    "symbols": ({"user_defined_symbols": ["<a>"]}, r"has user-defined symbols \('<a>'\), which cannot be"),
    "bytes": ({"byte_fallback": True, "vocab_size": 400}, r"has pieces for bytes \('<0x00>'\), which cannot"),
    "spaces": ({"remove_extra_whitespaces": False}, "has remove_extra_whitespaces=False, which cannot be"),
    "prefix": ({"add_dummy_prefix": False}, "has add_dummy_prefix=False, which cannot be carried over$"),
}


@pytest.mark.message
@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_message_a_model_that_cannot_be_carried_over(sentences, tmp_path: Path, options, message):
    train_pieces(tmp_path / "one.spm", sentences[0], **options)
    with pytest.raises(ValueError, match=f"^{tmp_path}/one.spm {message}"):
        read_spm(tmp_path / "one.spm")


@pytest.mark.message
def test_message_not_a_model(tmp_path: Path):
    (tmp_path / "one.spm").write_bytes(b"\xff" * 9)
    with pytest.raises(ValueError, match=r"one\.spm is not a SentencePiece model \(.*\); download it again$"):
        read_spm(tmp_path / "one.spm")
