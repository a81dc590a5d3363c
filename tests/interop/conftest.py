"""Fixtures for the tests of conversions: sentences, and a random Marian model of the shape of OPUS-MT's."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.sentence_pairs import Splits
from tests.fixtures import unchecked_shapes
from tests.interop.varied_models import stirred

FEW, MANY = 10, 200  # sentences, in `make test` and in `make slow`
ODD = [  # what normalization changes, or the vocabulary lacks
    "Größe 5,5 — “quoted”  text…",
    "\ufb01ne \u216b ½ ① \uff21\uff22\uff23\u3000\uff44",
    "日本語 テスト",
    "a\u0301e\u0301 cafe\u0301",
    "the\u00a0dog\u200b x",
    "👍🏽 dog 👩‍👩‍👧",
    ">>deu<< the dog",
    ">>xyz<< the dog",
    "",
    "   ",
]
# The settings of Helsinki-NLP/opus-mt-en-de that are not the library's, with other sizes, ids, and labels.
SIZES = {"layers": 2, "attention_heads": 2, "ffn_dim": 34}
OPUS = {f"{stack}_{name}": size for stack in ("encoder", "decoder") for name, size in SIZES.items()} | {
    "d_model": 24,
    "max_position_embeddings": 61,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "activation_function": "swish",
    "dtype": "float64",
    "add_final_layer_norm": False,
    "normalize_before": False,
    "normalize_embedding": False,
    "scale_embedding": True,
    "share_encoder_decoder_embeddings": True,
    "static_position_embeddings": True,
}


@pytest.fixture(scope="session")
def toy() -> Splits:
    """Return the toy corpus, which has no shapes to check; checking would take ten times as long."""
    with unchecked_shapes():
        return load_corpus("toy").splits


@pytest.fixture(scope="session")
def sentences(toy: Splits) -> tuple[list[str], list[str]]:
    """Return 200 English sentences, and their translations."""
    pairs = toy["test"][:MANY]
    return [english for english, _ in pairs], [german for _, german in pairs]


def train_pieces(path: Path, texts: Iterable[str], **options: object) -> SentencePieceProcessor:
    """Train a small SentencePiece model, write it to a file, and return it."""
    with path.open("wb") as file:
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=file,
            hard_vocab_limit=False,
            minloglevel=2,
            num_threads=1,
            **{"vocab_size": 61} | options,
        )
    return SentencePieceProcessor(model_file=str(path))


@pytest.fixture(scope="session")
def pieces(toy: Splits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two small SentencePiece models, and their shared vocabulary."""
    folder, vocabulary = tmp_path_factory.mktemp("pieces"), ["</s>", "<unk>"]
    sides = zip(("source", "target"), (151, 173), zip(*toy["train"][:2000], strict=True), strict=True)
    for name, vocab_size, texts in sides:
        model = train_pieces(folder / f"{name}.spm", texts, vocab_size=vocab_size)
        ids = (id_ for id_ in range(model.get_piece_size()) if not model.is_control(id_))
        vocabulary += [piece for piece in map(model.id_to_piece, ids) if piece not in vocabulary]
    vocabulary += [">>deu<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: id_ for id_, piece in enumerate(vocabulary)}))
    return folder


@pytest.fixture
def make_marian(pieces: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a random Marian model, and returns its folder."""

    def make(change: Callable[[Any], None] = lambda model: None, **settings: object) -> Path:
        import transformers

        for file in pieces.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        size = len(json.loads((pieces / "vocab.json").read_text()))
        ids = {"pad_token_id": size - 1, "decoder_start_token_id": size - 1}
        config = OPUS | ids | {"vocab_size": size} | settings
        torch.manual_seed(0)
        model = stirred(transformers.MarianMTModel(transformers.MarianConfig(**config))).eval()
        model.final_logits_bias.normal_()
        change(model)
        model.save_pretrained(tmp_path)
        saved = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps(saved | settings | {"bad_words_ids": [[size - 1]]}))
        codes = {"source_lang": "eng", "target_lang": "deu", "tokenizer_class": "MarianTokenizer"}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(codes))
        return tmp_path

    return make
