"""CTranslate2 finds our translations: as a folder that others load, and as the engine of a translator."""

import json
from pathlib import Path

import ctranslate2
import pytest
import tokenizers
import torch

from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.interop.ctranslate2 import CTranslate2Engine, to_ctranslate2
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer
from tests.explorer_sentences import sentences
from tests.interop.varied_models import KINDS, TEXTS, tokenizer, varied_model

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")


@pytest.fixture(scope="module")
def shipped() -> tuple[Transformer, Tokenizer]:
    return load(pretrained_folder("en-de"))


def translations(shipped: tuple[Transformer, Tokenizer], count: int, **engine: str) -> list[tuple[str, str]]:
    """Return our greedy translation of each sentence, and CTranslate2's."""
    texts = sentences("en-de", count)
    theirs = Translator(*shipped, engine=CTranslate2Engine.from_model(shipped[0], **engine))
    return list(zip(Translator(*shipped).translate(texts), theirs.translate(texts), strict=True))


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_oracle_ctranslate2_finds_the_same_translations(shipped, count: int):
    for ours, theirs in translations(shipped, count):
        assert theirs == ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "least"), [("float16", 197), ("bfloat16", 190), ("int8", 170)]
)  # int8: 175 on an AMD processor without VNNI
def test_oracle_rounded_weights_change_few_of_200_translations(shipped, dtype: str, least: int):
    equal = sum(ours == theirs for ours, theirs in translations(shipped, 200, dtype=dtype))
    assert equal >= least


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_each_kind_of_model_has_the_same_targets_and_log_probabilities(kind: str):
    model = varied_model(**KINDS[kind])
    ours, theirs = (
        Translator(model, tokenizer(), engine=engine)
        for engine in (None, CTranslate2Engine.from_model(model))
    )
    translations = theirs.nbest(TEXTS, 1, beam_size=1)
    for (one,), (two,) in zip(ours.nbest(TEXTS, 1, beam_size=1), translations, strict=True):
        assert one.text == two.text
        # Without a final norm, logits reach 400, where rounding is 3e-5 a token: ours is off by 1e-3.
        assert two.log_prob == pytest.approx(one.log_prob, rel=1e-4, abs=2e-3)
    assert len({two.text for (two,) in translations}) >= 4


def test_law_ids_and_limits_are_ours():
    """Each target stops at the limit of its own source, although CTranslate2 has one limit per batch."""
    model, endless = varied_model(max_length=97), [[5, 6, 7, 8, 9, 10, 2], [4, 2], [11, 12, 2]]
    with torch.no_grad():
        model.embedding.weight[2] = 0
        model.embedding.weight[2, 0] = -9  # EOS is never the most likely token
    engine = CTranslate2Engine.from_model(model)
    for beam_size in (1, 3):
        hypotheses = engine.search(endless, limits=[31, 29, 37], beam_size=beam_size)
        assert [max(len(ids) for ids, _ in beam) for beam in hypotheses] == [31, 29, 37]
        assert not {0, 1} & {id_ for beam in hypotheses for ids, _ in beam for id_ in ids}
        assert [len(beam) for beam in hypotheses] == [beam_size] * 3


def test_law_a_source_is_read_to_its_end():
    """CTranslate2 would cut it after 1,024 tokens by default."""
    model = varied_model(max_length=1103)
    engine = CTranslate2Engine.from_model(model)
    source = torch.randint(4, 260, (1101,)).tolist()
    one, two = (engine.search([[*source, last, 2]], limits=[11], beam_size=1) for last in (5, 77))
    assert one[0][0].log_prob != two[0][0].log_prob


def test_law_a_folder_is_enough_to_translate_without_this_package(shipped, tmp_path: Path):
    to_ctranslate2(*shipped, tmp_path, languages=("en", "de"))
    theirs, text = ctranslate2.Translator(str(tmp_path)), "The weather is nice today."
    backend = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    (result,) = theirs.translate_batch([[*backend.encode(text).tokens, "<eos>"]], beam_size=1)
    ids = [backend.token_to_id(token) for token in result.hypotheses[0]]
    assert [backend.decode(ids).strip()] == Translator(*shipped).translate([text])
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert (config["source_language"], config["target_language"]) == ("en", "de")
    engine = CTranslate2Engine(tmp_path)
    assert (engine.vocabulary, engine.languages) == (shipped[1].vocabulary(), ("en", "de"))


def test_law_an_engine_loads_the_folder(shipped, tmp_path: Path):
    to_ctranslate2(*shipped, tmp_path, dtype="int8")
    loaded, made = CTranslate2Engine(tmp_path), CTranslate2Engine.from_model(shipped[0], dtype="int8")
    source = shipped[1].encode_source(["The weather is nice today."])
    hypotheses, again = (engine.search(source, limits=[40], beam_size=2) for engine in (loaded, made))
    assert hypotheses == again
    assert [ids[-1] for ids, _ in hypotheses[0]] == [EOS_ID] * 2
    assert (tmp_path / "model.bin").stat().st_size < 5e6  # 14 MB in float32


@pytest.mark.message
@pytest.mark.parametrize("file", ["model.bin", "shared_vocabulary.json", "config.json"])
@pytest.mark.parametrize("content", [b"", b"{}"])
def test_message_a_damaged_folder(tmp_path: Path, file: str, content: bytes):
    to_ctranslate2(varied_model(), tokenizer(), tmp_path)
    (tmp_path / file).write_bytes(content)
    words = r"has damaged files, or files that to_ctranslate2 did not write \(.*\); export the model again"
    with pytest.raises(ValueError, match=words):
        CTranslate2Engine(tmp_path)


@pytest.mark.message
@pytest.mark.parametrize(
    ("changes", "dtype", "message"),
    [
        (
            {"d_k": 4, "d_v": 7},
            "float32",
            r"one width for queries, keys and values, .* d_k=4 and d_v=7",
        ),
        (
            {"final_norm": True},
            "float32",
            r"no norm after the last layer of a post-norm .* encoder\.fin",
        ),
        ({}, "int4", "dtype='int4' is not a type of weights in CTranslate2; choose from"),
    ],
)
def test_message_what_cannot_be_exported(tmp_path: Path, changes, dtype: str, message: str):
    with pytest.raises(ValueError, match=message):
        to_ctranslate2(varied_model(**changes), tokenizer(), tmp_path, dtype=dtype)
    assert list(tmp_path.iterdir()) == []
