"""Marian models of transformers: the same tokens, logits, and translations, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.interop.marian import from_marian, to_marian
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID, PAD_ID, Tokenizer
from tests.checkpointing.small_models import make_model, make_tokenizer, same
from tests.interop.conftest import FEW, MANY, ODD
from tests.interop.varied_models import stirred

EXACT = {"rtol": 1e-11, "atol": 1e-11}
HOW_MANY = [FEW, pytest.param(MANY, marks=pytest.mark.slow)]
KINDS = {
    "the paper's": {},
    "gelu and biases": {"activation": "gelu", "attention_bias": True, "output_bias": True},
    "swish": {"activation": "swish", "attention": "fused", "dropout": 0.0, "final_norm": False},
    "untied": {"tied_output": False, "output_bias": True},
}


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.from_pretrained("en-de")


@pytest.fixture(scope="module")
def shipped(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shipped")
    to_marian(translator.model, translator.tokenizer, folder, languages=translator.languages)
    return folder


def load_theirs(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer  # here: the import takes seconds

    return AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


# Ours in transformers


@pytest.mark.parametrize("many", HOW_MANY)
def test_oracle_transformers_translates_the_same_greedily(translator, shipped, sentences, many: int):
    (model, tokenizer), texts = load_theirs(shipped), sentences[0][:many]
    translations = []
    for start in range(0, many, 50):
        inputs = tokenizer(texts[start : start + 50], return_tensors="pt", padding=True)
        translations += tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True)
    assert translations == translator.translate(texts)


def test_oracle_their_tokenizer_gives_the_same_ids_and_texts(translator, shipped, sentences):
    ours, (_, theirs) = translator.tokenizer, load_theirs(shipped)
    texts = [*sentences[0], *ODD, " A <eos> b </s> <pad>."]
    ids = ours.encode_source(texts)
    assert theirs(texts)["input_ids"] == ids
    assert theirs.batch_decode(ids, skip_special_tokens=True) == ours.decode(ids)
    assert ids != ours.encode_source([text.lower() for text in texts])
    assert (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id) == (0, 1, 2)


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_oracle_logits_are_those_of_transformers(tmp_path: Path, changes):
    ours = stirred(make_model(num_layers=2, max_length=29, **changes)).eval()
    to_marian(ours, make_tokenizer(), tmp_path)
    theirs, _ = load_theirs(tmp_path)
    rng = torch.Generator().manual_seed(2)
    src, tgt = (torch.randint(3, 263, (2, tokens), generator=rng) for tokens in (7, 5))
    src[1, 4:] = PAD_ID
    logits = theirs(input_ids=src, attention_mask=(src != PAD_ID).long(), decoder_input_ids=tgt).logits
    torch.testing.assert_close(logits, ours(src, tgt), **EXACT)


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_law_a_round_trip_restores_model_and_tokenizer_bit_for_bit(tmp_path, changes, dtype):
    ours, tokenizer = stirred(make_model(**changes)).to(dtype), make_tokenizer()
    to_marian(ours, tokenizer, tmp_path, languages=("en", "de"))
    back, its_tokenizer, languages = from_marian(tmp_path)
    assert same(back, ours)
    assert {parameter.dtype for parameter in back.parameters()} == {dtype}
    assert not back.training
    assert torch.equal(back.positions.table, ours.positions.table)
    assert its_tokenizer.to_json() == tokenizer.to_json()
    assert languages == ("en", "de")
    checkpoint.save(tmp_path / "saved", back, its_tokenizer)


def test_law_weights_can_be_stored_in_half_precision(tmp_path: Path):
    ours = make_model()
    to_marian(ours, make_tokenizer(), tmp_path, dtype="float16")
    back, _, languages = from_marian(tmp_path)
    assert same(back, ours.half())
    assert languages is None


@pytest.mark.message
@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"norm": "pre"}, {}, "^norm='pre' cannot be carried over: .* of transformers has 'post'$"),
        ({"positions": "learned"}, {}, "^positions='learned' cannot be carried over: .* has 'sinusoidal'$"),
        ({"final_norm": True}, {}, "^final_norm=True cannot be .*: .* no norm after its last layer$"),
        ({}, {"dtype": "int8"}, "stored as 'int8'; choose from float32, float16, bfloat16$"),
        ({"vocab_size": 267}, {}, "the model has vocab_size"),
    ],
)
def test_message_what_marian_models_do_not_have(tmp_path: Path, changes, options, message):
    with pytest.raises(ValueError, match=message):
        to_marian(make_model(**changes), make_tokenizer(), tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


# Theirs in ours


def our_ids(tokenizer: Tokenizer, folder: Path) -> dict[int, int]:
    theirs: dict[str, int] = json.loads((folder / "vocab.json").read_text())
    ours = {piece: id_ for id_, piece in enumerate(tokenizer.vocabulary())}
    special = {"</s>": EOS_ID, "<unk>": 3, "<pad>": PAD_ID}
    return {id_: special.get(piece) or ours[piece] for piece, id_ in theirs.items()}


@pytest.mark.parametrize("many", HOW_MANY)
def test_oracle_an_imported_tokenizer_gives_the_ids_of_marians(make_marian, sentences, many: int):
    from transformers import MarianTokenizer

    folder = make_marian()
    (_, ours, _), theirs = from_marian(folder), MarianTokenizer.from_pretrained(folder)
    ids = our_ids(ours, folder)
    sources, targets = ([*texts[:many], *ODD] for texts in sentences)
    expected = [[ids[id_] for id_ in row] for row in theirs(sources)["input_ids"]]
    assert ours.encode_source(sources) == expected
    assert sum(row.count(3) for row in expected) > 5  # unknown
    expected = [[1, *(ids[id_] for id_ in row)] for row in theirs(text_target=targets)["input_ids"]]
    assert ours.encode_target(targets) == expected
    rows = theirs(text_target=targets[:many])["input_ids"]
    decoded = theirs.batch_decode(rows, skip_special_tokens=True)
    assert ours.decode([[ids[id_] for id_ in row] for row in rows]) == decoded == targets[:many]


def share(model: Any) -> None:
    """Give encoder and decoder one embedding: without ties, `transformers` draws a matrix for each."""
    for stack in (model.model.encoder, model.model.decoder):
        stack.embed_tokens.weight.data.copy_(model.model.shared.weight)


UNTIED = {"tie_word_embeddings": False}
OUTPUTS = pytest.mark.parametrize("output", [{}, {"change": share} | UNTIED], ids=["tied", "untied"])


@OUTPUTS
@pytest.mark.parametrize("many", HOW_MANY)
def test_oracle_logits_of_an_imported_model_are_those_of_transformers(
    make_marian, sentences, many: int, output
):
    from transformers import MarianMTModel

    folder = make_marian(**output)
    theirs = MarianMTModel.from_pretrained(folder).eval()
    ours, tokenizer, languages = from_marian(folder)
    assert languages == ("eng", "deu")
    assert (ours.config.activation, ours.config.tied_output) == ("swish", not output)
    assert ours.config.output_bias
    assert ours.config.attention_bias
    ids = our_ids(tokenizer, folder)
    theirs_of = {our_id: their_id for their_id, our_id in ids.items()} | {1: theirs.config.pad_token_id}
    src = pad(tokenizer.encode_source(sentences[0][:many]))
    tgt = pad([row[:-1] for row in tokenizer.encode_target(sentences[1][:many])])
    their_src, their_tgt = (x.clone().apply_(theirs_of.get) for x in (src, tgt))
    with torch.no_grad():
        logits, mask = ours(src, tgt), (src != PAD_ID).long()
        expected = theirs(input_ids=their_src, attention_mask=mask, decoder_input_ids=their_tgt).logits
    columns = torch.tensor([ids[id_] for id_ in range(expected.size(2))])
    torch.testing.assert_close(logits[..., columns][tgt != 0], expected[tgt != 0], **EXACT)
    assert torch.equal(ours.embedding.weight[1], ours.embedding.weight[PAD_ID])  # BOS is a copy


def test_law_a_start_token_of_its_own_becomes_bos(make_marian):
    folder = make_marian(decoder_start_token_id=7)
    model, tokenizer, _ = from_marian(folder)
    pieces = list(json.loads((folder / "vocab.json").read_text()))
    assert tokenizer.vocab_size == len(pieces)
    assert pieces[7] not in tokenizer.vocabulary()
    assert not torch.equal(model.embedding.weight[1], model.embedding.weight[PAD_ID])


def test_law_dropout_that_ours_lacks_is_reported(make_marian):
    with pytest.warns(UserWarning, match=r"has \{'attention_dropout': 0\.1\}, .* further training is di"):
        from_marian(make_marian(attention_dropout=0.1))


REFUSED = {  # settings of the model, and the message
    "separate": (UNTIED, "has different embeddings in encoder and decoder, .* one for source and target"),
    "two embeddings": ({"share_encoder_decoder_embeddings": False}, "has share_encoder_decoder_embed"),
    "scale": ({"scale_embedding": False}, "has scale_embedding=False, which cannot be carried over: only"),
    "pre-norm": ({"normalize_before": True}, "has normalize_before=True, which .*: only False can$"),
    "layers": ({"decoder_layers": 1}, "has encoder_layers=2 and decoder_layers=1, which .* they are equal$"),
    "heads": ({"decoder_attention_heads": 3}, "has encoder_attention_heads=2 and decoder_attention_heads=3"),
    "activation": ({"activation_function": "tanh"}, "has activation_function='tanh', .* relu, gelu, swish"),
}


@pytest.mark.message
@pytest.mark.parametrize(("settings", "message"), REFUSED.values(), ids=REFUSED)
def test_message_a_model_with_a_part_that_ours_does_not_have(make_marian, settings, message):
    folder = make_marian(**settings)
    with pytest.raises(ValueError, match=re.escape(str(folder)) + " " + message):
        from_marian(folder)


@pytest.mark.message
def test_message_weights_that_cannot_be_carried_over(make_marian):
    folder = make_marian()
    tensors = load_file(folder / "model.safetensors")
    learned = {"model.decoder.embed_positions.weight": torch.ones(61, 24, dtype=torch.float64)}
    fewer = {name: x for name, x in tensors.items() if name != "model.encoder.layers.1.fc1.bias"}
    for changed, message in (
        (tensors | learned, "has positions of the decoder other than sinusoids, which can"),
        (tensors | {"odd": torch.ones(2)}, "has tensors that Marian models do not have odd, which cannot be"),
        (fewer, r"has no model\.encoder\.layers\.1\.fc1\.bias, which cannot be"),
    ):
        save_file(changed, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(ValueError, match=message):
            from_marian(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="has no weights that transformers can read"):
        from_marian(folder)


@pytest.mark.message
def test_message_a_vocabulary_that_cannot_be_carried_over(make_marian):
    folder = make_marian()
    ids = json.loads((folder / "vocab.json").read_text())
    size = len(ids)
    for changed, message in (
        (ids | {"more": size}, rf"a vocabulary of {size + 1} entries, and an embedding of {size};"),
        (ids | {"more": size + 1}, rf"does not give each id from 0 to {size} once$"),
    ):
        (folder / "vocab.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=message):
            from_marian(folder)
    (folder / "vocab.json").rename(folder / "target_vocab.json")
    with pytest.raises(ValueError, match=r"has no vocab\.json, which cannot be carried over: another tok"):
        from_marian(folder)
    (folder / "vocab.json").write_text("{}")
    with pytest.raises(ValueError, match="has separate vocabularies for source and target, which cannot be"):
        from_marian(folder)


@pytest.mark.message
def test_message_a_folder_without_a_marian_model(tmp_path: Path):
    for text, message in (
        ("{", r"config\.json is not JSON \(.*\); download it again$"),
        ("[]", r"config\.json holds a list, not an object; download it again$"),
        ('{"model_type": "t5"}', "holds a model of the type 't5'; give the folder of a Marian model$"),
    ):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=message):
            from_marian(tmp_path)


@pytest.mark.message
def test_message_an_imported_tokenizer_does_not_fit_into_one_of_transformers(make_marian, tmp_path: Path):
    model, tokenizer, _ = from_marian(make_marian())
    with pytest.raises(ValueError, match="two SentencePiece models, which cannot be carried over: use th"):
        to_marian(model, tokenizer, tmp_path / "back")
