"""The translator: translations in the order of the texts, saved models, and texts that are refused."""

import copy
import dataclasses
import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.sampling import Temperature
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID
from tests.decoding.conftest import TEXTS

pytestmark = pytest.mark.usefixtures("unchecked")


def test_law_translations_have_the_order_of_the_texts(translator: Translator):
    expected = []
    for text in TEXTS:
        ids = torch.tensor(translator.tokenizer.encode_source([text]))
        expected += translator.tokenizer.decode(greedy_search(translator.model, ids).tolist())
    assert len(set(expected)) == 4  # otherwise the order would not be tested
    for batch_size in (2, 64):
        assert translator.translate(TEXTS, batch_size=batch_size) == expected
    assert translator.translate([]) == []


@pytest.mark.parametrize("beam_size", [1, 3])
def test_law_every_method_decodes_with_the_given_decoder_and_batch_size(translator, beam_size):
    made: list[tuple[Transformer, int]] = []

    def decoder(model: Transformer, src: torch.Tensor) -> KeyValueCache:
        made.append((model, len(src)))
        return KeyValueCache(model, src)

    observed = Translator(translator.model, translator.tokenizer, decoder=decoder)
    observed.translate(TEXTS, beam_size=beam_size, batch_size=2)
    observed.explain(TEXTS, beam_size=beam_size, batch_size=2)
    observed.nbest(TEXTS, beam_size=beam_size, nbest=beam_size, batch_size=2)
    observed.sample(TEXTS, generator=torch.Generator().manual_seed(0), batch_size=2)
    assert made == [(translator.model, rows) for rows in (2, 2, 1)] * 4


def test_law_a_translation_says_whether_it_was_cut_off_at_its_limit(translator: Translator):
    texts, translator = [*TEXTS, "dogs"], copy.deepcopy(translator)
    with torch.no_grad():
        translator.model.embedding.weight[EOS_ID] *= 2.5  # so that some translations end
    explained = translator.explain(texts)
    ended = [one.target_tokens[-1] == "<eos>" for one in explained]
    assert set(ended) == {True, False}
    assert [one.text.complete for one in explained] == ended
    assert [text.complete for text in copy.deepcopy(translator.translate(texts))] == ended
    assert [best[0].text.complete for best in translator.nbest(texts, 1, beam_size=1)] == ended
    rng, surest = torch.Generator().manual_seed(0), Temperature(1e-9)
    drawn = translator.sample(texts, generator=rng, logits_processors=[surest])
    assert [text.complete for text in drawn] == ended


def test_law_a_saved_model_translates_as_before(translator: Translator, tmp_path: Path):
    checkpoint.save(tmp_path, translator.model, translator.tokenizer)
    assert Translator.from_folder(tmp_path).translate(TEXTS) == translator.translate(TEXTS)
    assert Translator.from_folder(tmp_path).languages is translator.languages is None
    checkpoint.save(tmp_path, translator.model, translator.tokenizer, languages=("en", "es"))
    assert Translator.from_folder(tmp_path).languages == ("en", "es")
    assert Translator(*checkpoint.load(tmp_path), languages=("de", "fr")).languages.target == "fr"
    assert Translator.from_pretrained("de-en").languages == ("de", "en")


@pytest.mark.parametrize(("beam_size", "penalty"), [(1, {}), (3, {}), (3, {"length_penalty": PlainLength()})])
def test_law_explain_and_nbest_describe_what_beam_search_finds(translator: Translator, beam_size, penalty):
    settings = {"beam_size": beam_size, **penalty}
    explained = translator.explain(TEXTS, batch_size=2, **settings)
    nbest = translator.nbest(TEXTS, min(beam_size, 2), batch_size=2, **settings)
    translations = translator.translate(TEXTS, **settings)
    assert [one.text for one in explained] == [row[0].text for row in nbest] == translations
    assert len({one.text for row in nbest for one in row}) > (4 if beam_size > 1 else 3)
    for text, one, row in zip(TEXTS, explained, nbest, strict=True):
        src = torch.tensor(translator.tokenizer.encode_source([text]))
        best = beam_search(translator.model, src, nbest=min(beam_size, 2), **settings)
        assert "".join(one.source_tokens) == f" {text}<eos>"
        assert one.target_tokens == translator.tokenizer.tokens([id_ for id_ in best.ids[0].tolist() if id_])
        shape = len(one.target_tokens), len(one.source_tokens)
        assert one.attention.shape == (1, 4, *shape)
        torch.testing.assert_close(one.attention.sum(dim=-1), one.attention.new_ones(1, 4, shape[0]))
        assert one.log_prob == pytest.approx(best.log_probs[0].item(), abs=1e-10)
        assert [each.text for each in row] == translator.tokenizer.decode(best.ids.tolist())
        for name in ("log_probs", "penalized_log_probs"):
            found = [getattr(each, name.removesuffix("s")) for each in row]
            assert found == pytest.approx(getattr(best, name).tolist(), abs=1e-10)
    alone = translator.explain(TEXTS[:1], **settings)[0]
    torch.testing.assert_close(alone.attention, explained[0].attention, rtol=0, atol=1e-10)


def test_law_without_a_beam_size_nbest_takes_one_that_is_large_enough(translator: Translator):
    for nbest, beam_size in ((2, 4), (5, 5), (7, 7)):
        found = translator.nbest(TEXTS, nbest)
        assert found == translator.nbest(TEXTS, nbest, beam_size=beam_size)
        assert [len(ranked) for ranked in found] == [nbest] * len(TEXTS)
    assert translator.nbest(TEXTS, 2) != translator.nbest(TEXTS, 2, beam_size=2)  # so the size counts


def test_law_fast_is_off_unless_asked_for(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(FastKeyValueCache, "__init__", lambda self, model, src: int("fast"))
    pair = translator.model, translator.tokenizer
    for plain in (Translator(*pair), Translator(*pair, fast=False), Translator.from_pretrained()):
        assert plain.translate(TEXTS[:1])
    for fast in (Translator(*pair, fast=True), Translator.from_pretrained(fast=True)):
        with pytest.raises(ValueError, match="'fast'"):
            fast.translate(TEXTS[:1])


def test_law_a_model_is_moved_to_the_device_and_loaded_on_the_cpu(translator: Translator, tmp_path: Path):
    checkpoint.save(tmp_path, translator.model, translator.tokenizer)
    own = copy.deepcopy(translator.model), translator.tokenizer
    for expected, made in (
        ("cpu", Translator.from_folder(tmp_path)),
        ("cpu", Translator.from_pretrained("de-en")),
        ("meta", Translator.from_folder(tmp_path, device="meta")),
        ("meta", Translator.from_pretrained(device=torch.device("meta"))),
        ("meta", Translator(*own, device="meta")),
    ):
        assert str(next(made.model.parameters()).device) == expected


@pytest.mark.message
def test_message_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    sentence = "^device='cuda:0', but PyTorch .* finds 0 CUDA devices for 1 processes of this machine; "
    for device in ("cuda:0", torch.device("cuda:0")):
        with pytest.raises(ValueError, match=sentence):
            Translator.from_pretrained(device=device)


def test_law_missing_translations_are_left_out(translator: Translator, script: Callable[..., MakeDecoder]):
    only_eos = [0.0 if id_ == EOS_ID else -math.inf for id_ in range(translator.tokenizer.vocab_size)]
    scripted = Translator(translator.model, translator.tokenizer, decoder=script(lambda said: only_eos))
    (found,) = scripted.nbest(["A man"], 2, beam_size=2)
    assert [(one.text, one.log_prob) for one in found] == [("", 0.0)]


@pytest.mark.message
@pytest.mark.parametrize("size", [0, 2.5])
def test_message_a_batch_size_that_is_not_a_positive_whole_number(translator: Translator, size: float):
    for use in (translator.explain, translator.translate):
        with pytest.raises(ValueError, match=rf"batch_size={size} is not a number of texts; give a positive"):
            use(["A man"], batch_size=size)


@pytest.mark.message
@pytest.mark.parametrize("changes", [{"vocab_size": 307}, {"eos_id": 4}, {"pad_id": 2, "eos_id": 0}])
def test_message_a_tokenizer_of_another_model(translator: Translator, changes: dict[str, int]):
    """The tokenizer's special ids are fixed, so a model with other ids was trained with another tokenizer."""
    config = dataclasses.replace(translator.model.config, **changes)
    found = (config.vocab_size, config.pad_id, config.bos_id, config.eos_id)
    ours = (translator.tokenizer.vocab_size, 0, 1, 2)
    names = "vocab_size, pad_id, bos_id, eos_id"
    message = f"the model has {names} = {found} and the tokenizer {ours}; build the model with"
    with pytest.raises(ValueError, match=re.escape(message)):
        Translator(Transformer(config), translator.tokenizer)


@pytest.mark.message
@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["A man", "", "A child"], r"text 2 of 3 has nothing to translate \(''\); leave it out"),
        (["A man", " \n"], r"text 2 of 2 has nothing to translate \(' \\n'\); leave it out"),
        (["A man", "b" * 28], r"text 2 of 2 \('b{28}'…\) has 30 tokens .* for 29; split"),
        (["a\ud800"], r"text 1 of 1 is not valid Unicode: .* \('a\\ud800'\); decode it as"),
        (["Zwölf \udce4"], r"text 1 of 1 is not UTF-8 \(byte 8 is 0xe4\); convert it to UTF-8$"),
        (["A man", " Two dogs.\nA child\n"], r"text 2 of 2 has a line break, character 11 of ' Two"),
        (["Two\r\ndogs"], "has a line break, character 4 of .*; .* break by a space$"),
        (["Two\x00 dogs"], r"text 1 of 1 has the control character U\+0000, character 4 of"),
        (["Two dogs\x7f"], r"the control character U\+007F, character 9 of .*; remove it$"),
        ("A man", r"argument texts must be a list of strings, not str; give .* such as \[text\]"),
        ([b"A man"], r"texts\[0\] must be .*, not bytes; .* text\.decode\('utf-8'\) for bytes"),
    ],
)
def test_message_texts_that_cannot_be_translated(translator: Translator, texts: object, sentence: str):
    other_type = texts == "A man" or isinstance(texts[0], bytes)
    with pytest.raises(TypeError if other_type else ValueError, match=sentence):
        translator.translate(texts, split=False)


def test_law_white_space_of_any_kind_may_be_cleaned_but_not_other_control_characters(translator: Translator):
    cleaning = Translator(translator.model, translator.tokenizer.cleaning())
    plain = "Two dogs"
    for space in ("\t", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\u2028"):
        assert cleaning.encode([f"Two{space}dogs"]) == cleaning.encode([plain])
    for end in ("\n", "\r\n", "\t\n"):
        assert translator.encode([f"{end}{plain}{end}"]) == translator.encode([plain])
    assert list(translator.encode(["Two\tdogs"]).problems) == []
    for control in [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))]:
        refused = bool(cleaning.encode([f"Two{control}dogs"]).problems)
        assert refused == (control in "\r\n" or not control.isspace()), control


def test_law_decorations_are_put_back_around_the_translation(translator: Translator):
    cleaning = Translator(translator.model, translator.tokenizer.cleaning())
    before, after = ["", "• ", "♪", "1️⃣ ", ""], [" 😊", "", " ♪", " :)", "☀️"]
    texts = [f"\u200e{b}{text}\u200d{a}" for b, text, a in zip(before, TEXTS, after, strict=True)]
    expected = [f"{b}{text}{a}" for b, text, a in zip(before, cleaning.translate(TEXTS), after, strict=True)]
    assert cleaning.translate(texts, batch_size=2) == expected
    assert [one.text for one in cleaning.explain(texts, batch_size=2)] == expected
    best = [row[0].text for row in cleaning.nbest(texts, 2, beam_size=2)]
    assert best == cleaning.translate(texts, beam_size=2)
    rng, surest = torch.Generator().manual_seed(0), Temperature(1e-9)
    assert cleaning.sample(texts, generator=rng, logits_processors=[surest], batch_size=2) == expected
    assert cleaning.encode(texts).ids == cleaning.encode(TEXTS).ids
    # The other one may have been trained on such texts.
    assert translator.encode(texts).ids != translator.encode(TEXTS).ids
    assert cleaning.encode(["♪ ♪", "...", "\u200e", "%", "5 %"]).blank == {0, 1, 2, 3}


def test_law_what_is_printed_names_languages_vocabulary_and_device(translator: Translator):
    named = Translator(translator.model, translator.tokenizer, languages=("en", "de"))
    size = translator.tokenizer.vocab_size
    assert repr(named.tokenizer.cleaning()) == f"Tokenizer(vocab_size={size}, cleans=True)"
    assert repr(named) == f"Translator({named.tokenizer!r}, languages=('en', 'de'), device='cpu')"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_law_a_copy_translates_as_the_original(translator, copied):
    texts = ["A man <eos> dogs", *TEXTS]
    assert copied(translator).encode(texts) == translator.encode(texts)
    assert copied(translator).translate(texts) == translator.translate(texts)


def test_law_a_text_is_translated_sentence_by_sentence_or_without_split_as_one(translator: Translator):
    one, two, surest = "Two dogs.", "A child sleeps.", [Temperature(1e-9)]
    (whole,) = translator.translate([f"{one} {two}"], split=False)
    for text in (f"{one} {two}", f"{one}\n{two}"):
        (found,) = translator.translate([text])
        assert found == " ".join(translator.translate([one, two])) != whole
        assert translator.sample([text], logits_processors=surest) == [found]
    assert translator.sample([f"{one} {two}"], logits_processors=surest, split=False) == [whole]
    german = Translator(translator.model, translator.tokenizer, languages=("de", "en"))
    day = "am 3. Mai"  # a sentence ends here by the rules of English alone
    split = [len(each.sentences([day]).of_texts[0]) for each in (german, translator)]
    assert split == [1, 2]


def test_law_skip_bad_leaves_bad_texts_empty_and_translates_the_others(translator: Translator):
    texts = ["", TEXTS[0], "b" * 28, f"A child. {'b' * 28}", " \n", TEXTS[1]]
    message = r"^skipped: text 3 of 6 \('b.* 30 tokens .*\nskipped: text 4 of 6 .*; their translations are"
    with pytest.warns(UserWarning, match=re.compile(message, re.DOTALL)):
        found = translator.translate(texts, skip_bad=True)
    first, last = translator.translate([TEXTS[0], TEXTS[1]])
    assert found == ["", first, "", "", "", last]
    assert translator.translate(["", TEXTS[0]], skip_bad=True) == ["", first]  # blank, without a warning


def test_law_a_text_with_a_problem_is_not_blank(translator: Translator):
    sources = translator.encode(["", "\ud800", "\x00", "b" * 28, "a"])
    assert sources.blank == {0}
    assert sorted(sources.problems) == [1, 2, 3]
    assert [bool(ids) for ids in sources.ids] == [False] * 4 + [True]
