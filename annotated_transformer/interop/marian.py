"""Marian models of Hugging Face's `transformers`, such as those of OPUS-MT, in both directions.

`to_marian` needs no other library. `from_marian` needs `transformers`, and `sentencepiece` for models that
others have trained.
"""

from pathlib import Path
from typing import Any

import torch

from annotated_transformer.checkpointing.checkpoint import rounded
from annotated_transformer.checkpointing.files import safetensors_bytes, write_together
from annotated_transformer.config import TransformerConfig
from annotated_transformer.interop.exported import exportable, refuse_other_widths, warn_of_edited_code
from annotated_transformer.interop.formats import FORMATS
from annotated_transformer.interop.libraries import not_carried_over
from annotated_transformer.interop.marian_models import (
    generation_settings,
    load_marian,
    marian_settings,
    read_marian_shape,
    refuse_other_than_marian,
)
from annotated_transformer.interop.marian_tokenizer import (
    TOKENIZER,
    VOCABULARY,
    from_fast_tokenizer,
    from_sentence_pieces,
    read_json,
    read_marian_languages,
    to_bytes,
    to_fast_tokenizer,
)
from annotated_transformer.interop.marian_weights import (
    BIAS,
    EMBEDDINGS,
    from_marian_weights,
    has_attention_biases,
    to_marian_weights,
)
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.plain import plain_name
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.sentence_pairs import Languages, find_file
from annotated_transformer.text.tokenizer import Tokenizer

OWN = "annotated_transformer"  # in config.json: what Marian's settings cannot say
OWN_FIELDS = ("d_k", "d_v", "final_norm", "attention", "attention_bias", "output_bias")
CONFIG, GENERATION, WEIGHTS = "config.json", "generation_config.json", "model.safetensors"
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in FORMATS["marian"].dtypes}


@refuses_other_kinds
def to_marian(
    model: Transformer,
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    languages: tuple[str, str] | None = None,
    dtype: str | None = None,
) -> None:
    """Write a folder that `transformers` loads: `AutoModelForSeq2SeqLM` and `AutoTokenizer`.

    With greedy search, both libraries generate the same tokens, unless rounding decides between two that are
    almost equally likely. `from_marian` returns the same weights, bit for bit. In `transformers`, a
    translation ends after `max_length` tokens; ours ends 50 tokens after the length of the source, if that
    is earlier.

    The model has the paper's shape: post-norm, with sinusoids. `dtype` is the type of the weights, float32,
    float16, or bfloat16 (default: the model's). The files of an older export are replaced, each atomically.

    Raises:
        ValueError: If a part of the model or the tokenizer cannot be carried over; the message names it.
    """
    folder = Path(folder)
    model = exportable(model, tokenizer, folder, "Marian")
    refuse_other_widths(model.config, "a Marian model")
    refuse_other_than_marian(model.config)
    if dtype is not None and dtype not in DTYPES:
        raise ValueError(f"weights cannot be stored as {dtype!r}; choose from {', '.join(DTYPES)}")
    files = to_fast_tokenizer(tokenizer, model.config, languages)
    state = {plain_name(name): tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    stored = DTYPES[dtype] if dtype else state["embedding.weight"].dtype
    weights = to_marian_weights(rounded(state, stored), model.config)
    settings = marian_settings(model.config) | {"dtype": str(stored).removeprefix("torch.")}
    settings[OWN] = {name: getattr(model.config, name) for name in OWN_FIELDS}
    files[CONFIG] = to_bytes(settings)
    files[GENERATION] = to_bytes(generation_settings(model.config))
    write_together(folder, files | {WEIGHTS: safetensors_bytes(weights, {"format": "pt"})})


@refuses_other_kinds
def from_marian(path: str | Path) -> tuple[Transformer, Tokenizer, Languages | None]:
    """Return the model in a folder of `transformers`, its tokenizer, and its languages if they are stored.

    The folder holds a Marian model: one that `to_marian` wrote, or one with `source.spm`, `target.spm`, and
    `vocab.json`. The model is in evaluation mode on the CPU, with weights of the stored type. If its targets
    start with padding, as those of OPUS-MT do, our BOS has the vector of padding. That is exact: nothing
    attends to padding, and BOS is never generated.

    For our tokenizer, `</s>`, `<unk>`, and `<pad>` in a text are ordinary text; for `MarianTokenizer`, they
    are special tokens.

    Raises:
        ValueError: If a part of the model or the tokenizer cannot be carried over; the message names it.
    """
    folder = Path(path)
    if (kind := read_json(find_file(folder, CONFIG)).get("model_type")) != "marian":
        raise ValueError(f"{folder} holds a model of the type {kind!r}; give the folder of a Marian model")
    tensors, settings = load_marian(folder)
    if (folder / VOCABULARY).exists():
        start_id, pad_id = settings["decoder_start_token_id"], settings["pad_token_id"]
        tokenizer, rows = from_sentence_pieces(folder, start_id, pad_id)
        entries = max(rows) + 1
    elif OWN in settings and (folder / TOKENIZER).exists():
        tokenizer = from_fast_tokenizer(folder / TOKENIZER)
        rows, entries = list(range(tokenizer.vocab_size)), tokenizer.vocab_size
    else:
        raise not_carried_over(f"{folder} has no {VOCABULARY}", ": another tokenizer")
    embedding = tensors[EMBEDDINGS[0]]
    if entries != len(embedding):
        raise ValueError(
            f"{folder} has a vocabulary of {entries} entries, and an embedding of {len(embedding)}; "
            f"give a model and a tokenizer that belong together"
        )
    fields: dict[str, Any] = {name: x for name, x in settings.get(OWN, {}).items() if name in OWN_FIELDS}
    fields["attention_bias"] = fields.get("attention_bias", False) or has_attention_biases(tensors)
    fields["output_bias"] = fields.get("output_bias", False) or bool(tensors[BIAS].any())
    config = TransformerConfig(vocab_size=tokenizer.vocab_size, **read_marian_shape(settings), **fields)
    with torch.random.fork_rng(devices=[]):
        model = Transformer(config)
    state = from_marian_weights(tensors, config, torch.tensor(rows))
    model.load_state_dict(state, assign=True)
    warn_of_edited_code(model, "transformers")
    return model.to(embedding.dtype).eval(), tokenizer, read_marian_languages(folder)
