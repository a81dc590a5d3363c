"""CTranslate2 finds our translations: as a folder that others load, and as the engine of a translator."""

import copy
import json
import sys
from pathlib import Path

import ctranslate2
import pytest
import tokenizers
import torch

from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.interop.ctranslate2 import DTYPES, CTranslate2Engine, to_ctranslate2
from annotated_transformer.interop.marian import from_marian
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer
from tests.explorer_sentences import sentences
from tests.interop.varied_models import KINDS, SHAPE, TEXTS, tokenizer, varied_model

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")


@pytest.fixture(scope="module")
def shipped() -> tuple[Transformer, Tokenizer]:
    return load(pretrained_folder("en-de"))


def translations(shipped: tuple[Transformer, Tokenizer], count: int, **engine: str) -> list[tuple[str, str]]:
    """Return our greedy translation of each sentence, and CTranslate2's."""
    texts = sentences("en-de", count)
    theirs = Translator(*shipped, engine=CTranslate2Engine.from_model(shipped[0], **engine))
    return list(zip(Translator(*shipped).translate(texts), theirs.translate(texts), strict=True))


def test_oracle_ctranslate2_finds_the_same_translations(shipped):
    for ours, theirs in translations(shipped, 10):
        assert theirs == ours


@pytest.mark.slow
def test_oracle_ctranslate2_finds_the_same_200_translations(shipped):
    for ours, theirs in translations(shipped, 200):
        assert theirs == ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "least"), [("float16", 197), ("bfloat16", 190), ("int8", 170)]
)  # int8: 175 on an AMD processor without VNNI
def test_oracle_rounded_weights_change_few_of_200_translations(shipped, dtype: str, least: int):
    equal = sum(ours == theirs for ours, theirs in translations(shipped, 200, dtype=dtype))
    assert equal >= least


@pytest.mark.slow
def test_oracle_the_other_beam_search_finds_hypotheses_as_good_as_ours(shipped):
    texts = sentences("en-de", 200)
    engine = CTranslate2Engine.from_model(shipped[0])
    ours, theirs = (Translator(*shipped, engine=one).nbest(texts, 1) for one in (None, engine))
    pairs = [(one, two) for (one,), (two,) in zip(ours, theirs, strict=True)]
    assert sum(two.penalized_log_prob < one.penalized_log_prob - 1e-3 for one, two in pairs) <= 4
    assert sum(one.text == two.text for one, two in pairs) >= 190


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_each_kind_of_model_has_the_same_targets_and_log_probabilities(kind: str):
    model = varied_model(**KINDS[kind])
    ours, theirs = (
        Translator(model, tokenizer(), engine=engine)
        for engine in (None, CTranslate2Engine.from_model(model))
    )
    found = theirs.nbest(TEXTS, 1, beam_size=1)
    for (one,), (two,) in zip(ours.nbest(TEXTS, 1, beam_size=1), found, strict=True):
        assert one.text == two.text
        # Without a final norm, logits reach 400, where rounding is 3e-5 a token: ours is off by 1e-3.
        assert two.log_prob == pytest.approx(one.log_prob, rel=1e-4, abs=2e-3)
    assert len({two.text for (two,) in found}) >= 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_law_an_export_leaves_the_model_as_it_is(dtype: str, tmp_path: Path):
    model = varied_model()
    before = copy.deepcopy(model.state_dict())
    to_ctranslate2(model, tokenizer(), tmp_path, dtype=dtype)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_law_ids_and_limits_are_ours(tmp_path: Path):
    """Each target stops at the limit of its own source, although CTranslate2 has one limit per batch."""
    model, endless = varied_model(max_length=97), [[5, 6, 7, 8, 9, 10, 2], [4, 2], [11, 12, 2]]
    with torch.no_grad():
        model.embedding.weight[2] = 0
        model.embedding.weight[2, 0] = -9  # EOS is never the most likely token
    engine = CTranslate2Engine.from_model(model)
    for beam_size in (1, 3):
        found = engine.search(endless, limits=[31, 29, 37], beam_size=beam_size)
        lengths = [max(len(ids) for ids, _ in own) for own in found]
        assert lengths == [31, 29, 37]
        assert not {0, 1} & {id_ for own in found for ids, _ in own for id_ in ids}
        assert [len(own) for own in found] == [beam_size] * 3


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


def test_law_a_model_with_an_imported_tokenizer_is_exported(make_marian, tmp_path: Path):
    model, own, _ = from_marian(make_marian())
    to_ctranslate2(model, own, tmp_path / "out")
    engine, texts = CTranslate2Engine(tmp_path / "out"), sentences("en-de", 5)
    assert engine.tokens == own.vocabulary()
    found = Translator(model, own, engine=engine).translate(texts)
    assert found == Translator(model, own).translate(texts)
    assert any(found)


def test_law_an_engine_loads_the_folder(shipped, tmp_path: Path):
    to_ctranslate2(*shipped, tmp_path, dtype="int8")
    loaded, made = CTranslate2Engine(tmp_path), CTranslate2Engine.from_model(shipped[0], dtype="int8")
    source = shipped[1].encode_source(["The weather is nice today."])
    found = [engine.search(source, limits=[40], beam_size=2) for engine in (loaded, made)]
    assert found[0] == found[1]
    assert [ids[-1] for ids, _ in found[0][0]] == [EOS_ID] * 2
    assert (tmp_path / "model.bin").stat().st_size < 5e6  # 14 MB in float32


@pytest.mark.message
def test_message_an_engine_of_the_other_direction(shipped, tmp_path: Path):
    """Both models of this package have the same tokenizer, so only the languages tell them apart."""
    other = Translator.from_pretrained("de-en")
    to_ctranslate2(other.model, other.tokenizer, tmp_path, languages=other.languages)
    engine = CTranslate2Engine(tmp_path)
    assert engine.vocabulary == shipped[1].vocabulary()
    assert Translator(*shipped, engine=engine).languages is None  # unknown, so not refused
    words = (
        "^the engine translates from de into en, and this model from en into de; give the engine the folder"
    )
    with pytest.raises(ValueError, match=words):
        Translator(*shipped, engine=engine, languages=("en", "de"))


@pytest.mark.message
def test_message_an_engine_with_other_tokens(tmp_path: Path):
    texts = [text.swapcase() for text in TEXTS]
    other = Tokenizer.train(texts, vocab_size=SHAPE.vocab_size).cleaning()
    assert other.vocab_size == tokenizer().vocab_size
    to_ctranslate2(varied_model(), tokenizer(), tmp_path)
    engine = CTranslate2Engine(tmp_path)
    with pytest.raises(ValueError, match=r"^the engine was exported with another tokenizer: token \d+ is "):
        Translator(varied_model(), other, engine=engine)
    assert CTranslate2Engine.from_model(varied_model()).vocabulary is None


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
def test_message_values_of_another_width_cannot_be_exported(tmp_path: Path):
    model = varied_model(d_k=4, d_v=7)
    with pytest.raises(
        ValueError, match=r"one width for queries, keys and values, .* d_k=4 and d_v=7; train"
    ):
        to_ctranslate2(model, tokenizer(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.message
def test_message_a_final_norm_after_post_norm_cannot_be_exported():
    with pytest.raises(
        ValueError, match=r"no norm after the last layer of a post-norm .* encoder\.final_norm"
    ):
        CTranslate2Engine.from_model(varied_model(final_norm=True))


@pytest.mark.message
def test_message_a_changed_part_cannot_be_exported(tmp_path: Path):
    model = varied_model()
    model.decoder.layers[1].feed_forward.activation = torch.nn.Tanh()
    with pytest.raises(ValueError, match=r"model\.decoder\.layers\.1\.feed_forward\.activation is torch\.nn"):
        to_ctranslate2(model, tokenizer(), tmp_path)


@pytest.mark.message
def test_message_an_unknown_type_of_weights(tmp_path: Path):
    with pytest.raises(
        ValueError, match=r"dtype='int4' is not a type of weights in CTranslate2; choose from"
    ):
        to_ctranslate2(varied_model(), tokenizer(), tmp_path, dtype="int4")


@pytest.mark.message
def test_message_a_model_translates_between_two_languages(tmp_path: Path):
    with pytest.raises(ValueError, match=r"source and target are both 'de', .*; give two languages"):
        to_ctranslate2(varied_model(), tokenizer(), tmp_path, languages=("de", "de"))


@pytest.mark.message
def test_message_a_foreign_tokenizer(tmp_path: Path):
    other = Transformer(TransformerConfig(**{**SHAPE.__dict__, "vocab_size": 11}))
    with pytest.raises(ValueError, match=r"and the tokenizer .*; build the model with vocab_size="):
        to_ctranslate2(other, tokenizer(), tmp_path)


@pytest.mark.message
def test_message_a_missing_library_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    words = r"^CTranslate2's format needs ctranslate2, .*; run pip install '\.\[interop\]'"
    with pytest.raises(ModuleNotFoundError, match=words):
        CTranslate2Engine.from_model(varied_model())
