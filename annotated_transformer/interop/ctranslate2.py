"""CTranslate2, a C++ library for inference: models for it, and an engine for a `Translator`.

What CTranslate2 computes differs from our model in rounding alone, and its greedy search finds the same
targets. Its beam search is a different one: hypotheses that end are replaced by the next best, so the beam
keeps its width, and the search for a source ends when as many hypotheses as the beam is wide have ended
and the most likely of a step was among them. The hypotheses are ranked by our length penalty.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from annotated_transformer.checkpointing.checkpoint import TOKENIZER, rounded
from annotated_transformer.checkpointing.files import write_together
from annotated_transformer.decoding.engine import Candidate
from annotated_transformer.interop.exported import exportable, plain_transformer, stored_languages
from annotated_transformer.interop.formats import FORMATS
from annotated_transformer.interop.libraries import needed
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.sentence_pairs import Languages, find_file, refuse_one_language
from annotated_transformer.text.tokenizer import UNK_ID, Tokenizer

PURPOSE = "CTranslate2's format"
CONFIG, VOCABULARY, WEIGHTS = FILES = ("config.json", "shared_vocabulary.json", "model.bin")  # its names


@refuses_other_kinds
def to_ctranslate2(
    model: Transformer,
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    languages: tuple[str, str] | None = None,
    dtype: str = "float32",
) -> None:
    """Write the model to `folder` in CTranslate2's format, with its `tokenizer.json`.

    `dtype` is the type of the stored weights. In int8, each row of a matrix has a scale of its own, and
    norms and biases remain in float32. The languages are stored as `source_language` and
    `target_language` in `config.json`, where CTranslate2 does not use them.

    All files are complete on disk before the first older one is replaced, as with `save`.

    Raises:
        ValueError: If the format cannot hold a part of the model, model and tokenizer do not belong
            together, there is no such `dtype`, or both languages are the same.
    """
    model = exportable(model, tokenizer, Path(folder), "CTranslate2")
    files = _files(model, tokenizer.vocabulary(), languages, dtype)
    write_together(Path(folder), files | {TOKENIZER: tokenizer.to_json().encode() + b"\n"})


@refuses_other_kinds
class CTranslate2Engine:
    """A model of CTranslate2 on the CPU: the engine of a `Translator`."""

    vocabulary: list[str] | None = None  # unknown, unless it is loaded from a folder

    def __init__(self, folder: str | Path, *, threads: int = 1) -> None:
        """Load a model that `to_ctranslate2` wrote.

        `threads` is the number of threads of one matrix product; a small model is fastest with one.
        """
        folder = Path(folder)
        files = {name: find_file(folder, name).read_bytes() for name in FILES}
        try:
            self._load(files, threads)
        except (ValueError, KeyError, RuntimeError) as error:
            raise ValueError(
                f"{folder} has damaged files, or files that to_ctranslate2 did not write ({error}); export "
                f"the model again"
            ) from error
        self.vocabulary = self.tokens

    @classmethod
    @refuses_other_kinds
    def from_model(
        cls, model: Transformer, *, dtype: str = "float32", threads: int = 1
    ) -> "CTranslate2Engine":
        """Convert a model in memory; the arguments and errors are those of `to_ctranslate2`."""
        model = plain_transformer(model, "CTranslate2")
        engine = cls.__new__(cls)
        tokens = [f"<{id_}>" for id_ in range(model.config.vocab_size)]  # any names: searches take ids
        engine._load(_files(model, tokens, None, dtype), threads)
        return engine

    def search(self, sources: list[list[int]], *, limits: list[int], beam_size: int) -> list[list[Candidate]]:
        """Return the hypotheses that a beam of this size finds for each source.

        CTranslate2 has one limit for a batch. A source with a hypothesis that is longer than its own limit
        is searched again.
        """
        candidates = self._search(sources, max(limits), beam_size)
        for i, (source, limit) in enumerate(zip(sources, limits, strict=True)):
            if limit < max(limits) and any(len(ids) > limit for ids, _ in candidates[i]):
                (candidates[i],) = self._search([source], limit, beam_size)
        return candidates

    def _load(self, files: dict[str, bytes], threads: int) -> None:
        config = json.loads(files[CONFIG])
        self.tokens: list[str] = json.loads(files[VOCABULARY])
        self.ids = {token: id_ for id_, token in enumerate(self.tokens)}
        self.vocab_size = len(self.tokens)
        self.languages = stored_languages(config, "{}_language")
        self.never = [[config["pad_token"]], [config["bos_token"]]]
        self.translator: Any = needed("ctranslate2", PURPOSE).Translator(
            "annotated_transformer", files=files, intra_threads=threads, inter_threads=1
        )

    def _search(self, sources: list[list[int]], limit: int, beam_size: int) -> list[list[Candidate]]:
        results = self.translator.translate_batch(
            [[self.tokens[id_] for id_ in ids] for ids in sources],
            beam_size=beam_size,
            num_hypotheses=beam_size,
            length_penalty=0,  # the log-probabilities themselves, which a Translator ranks
            suppress_sequences=self.never,
            max_input_length=0,  # all of the source
            max_decoding_length=limit,
            return_end_token=True,
            return_scores=True,
        )
        return [
            [
                Candidate([self.ids[token] for token in tokens], log_prob)
                for tokens, log_prob in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]


def _files(
    model: Transformer, tokens: list[str], languages: tuple[str, str] | None, dtype: str
) -> dict[str, bytes]:
    """Return the files of the model in CTranslate2's format; `tokens` are the names of the ids."""
    _refuse_unknown(model, dtype)
    spec = _specification(model)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    config = model.config
    names = {"pad_token": config.pad_id, "bos_token": config.bos_id, "eos_token": config.eos_id}
    for name, id_ in (names | {"decoder_start_token": config.bos_id, "unk_token": UNK_ID}).items():
        spec.config.add_attribute(name, tokens[id_])
    if languages is not None:
        refuse_one_language(*languages)
        for name, language in Languages(*languages)._asdict().items():
            spec.config.add_attribute(f"{name}_language", language)
    spec.validate()
    spec.optimize(quantization=dtype)
    with TemporaryDirectory() as folder:  # where a kill or a full disk does not leave files of two models
        spec.save(folder)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def _refuse_unknown(model: Transformer, dtype: str) -> None:
    config = model.config
    if dtype not in (dtypes := FORMATS["ctranslate2"].dtypes):
        raise ValueError(f"dtype={dtype!r} is not a type of weights in CTranslate2; choose from {dtypes}")
    if dtype != "int8":  # in which each row has a scale
        rounded(model.state_dict(), getattr(torch, dtype))  # refuses overflow
    if config.norm == "post" and isinstance(model.encoder.final_norm, LayerNorm):
        raise ValueError(
            "CTranslate2 has no norm after the last layer of a post-norm model, and this one has "
            "encoder.final_norm and decoder.final_norm; export it to another format"
        )
    d_k, d_v = (width or config.d_model // config.num_heads for width in (config.d_k, config.d_v))
    if d_k != d_v:
        raise ValueError(
            f"CTranslate2 has one width for queries, keys and values, and this model has d_k={d_k} and "
            f"d_v={d_v}; train a model in which they are equal, or export it to another format"
        )


def _specification(model: Any) -> Any:
    specs, c = needed("ctranslate2.specs", PURPOSE), model.config
    settings = {
        "pre_norm": c.norm == "pre",
        "activation": specs.common_spec.Activation[c.activation.upper()],
        "head_dim": c.d_k,
        "no_final_norm": not isinstance(model.encoder.final_norm, LayerNorm),
    }
    spec = specs.TransformerSpec(
        specs.transformer_spec.TransformerEncoderSpec(c.num_layers, c.num_heads, **settings),
        specs.transformer_spec.TransformerDecoderSpec(c.num_layers, c.num_heads, **settings),
    )
    for embeddings in (spec.encoder.embeddings[0], spec.decoder.embeddings):
        embeddings.weight = _array(model.embedding.weight)
    for stack in (spec.encoder, spec.decoder):
        stack.position_encodings.encodings = _array(model.positions.table)
    spec.decoder.projection.weight = _array(model.to_logits.weight)
    if (bias := dict(model.named_parameters()).get("output_bias")) is not None:
        spec.decoder.projection.bias = _array(bias)
    for layer, to in zip(model.encoder.layers, spec.encoder.layer, strict=True):
        _self_attention(to.self_attention, layer.self_attention, layer.add_norm_1.norm)
        _feed_forward(to.ffn, layer.feed_forward, layer.add_norm_2.norm)
    for layer, to in zip(model.decoder.layers, spec.decoder.layer, strict=True):
        _self_attention(to.self_attention, layer.self_attention, layer.add_norm_1.norm)
        cross = layer.cross_attention
        _linear(to.attention.linear[0], cross.to_query)
        _linear(to.attention.linear[1], cross.to_key, cross.to_value)
        _linear(to.attention.linear[2], cross.to_output)
        _norm(to.attention.layer_norm, layer.add_norm_2.norm)
        _feed_forward(to.ffn, layer.feed_forward, layer.add_norm_3.norm)
    if isinstance(model.encoder.final_norm, LayerNorm):
        _norm(spec.encoder.layer_norm, model.encoder.final_norm)
        _norm(spec.decoder.layer_norm, model.decoder.final_norm)
    return spec


def _self_attention(to: Any, attention: Any, norm: Any) -> None:
    _linear(to.linear[0], attention.to_query, attention.to_key, attention.to_value)
    _linear(to.linear[1], attention.to_output)
    _norm(to.layer_norm, norm)


def _feed_forward(to: Any, network: Any, norm: Any) -> None:
    _linear(to.linear_0, network.expand)
    _linear(to.linear_1, network.contract)
    _norm(to.layer_norm, norm)


def _linear(to: Any, *linears: Any) -> None:
    """Set a linear map to several ones, whose outputs it has side by side."""
    to.weight = _array(torch.cat([linear.weight for linear in linears]))
    if linears[0].bias is not None:
        to.bias = _array(torch.cat([linear.bias for linear in linears]))


def _norm(to: Any, norm: Any) -> None:
    to.gamma, to.beta = _array(norm.gain), _array(norm.bias)


def _array(tensor: Any) -> Any:
    return tensor.detach().float().cpu().numpy().copy()  # CTranslate2 quantizes in place
