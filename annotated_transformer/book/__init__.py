"""What the chapters import, from one place: the book's helpers, and the parts of the model that they explain.

A name is imported from its module on first use, so that a chapter depends only on the modules that it uses.
"""

from importlib import import_module
from typing import Any

from annotated_transformer.exports import names_of

EXPORTS = {  # by module
    "book.cells.captions": "show_figure show_slider",
    "book.cells.check": "check check_close",
    "book.cells.claim": "claim",
    "book.cells.explore": "explore",
    "book.cells.source": "show_source",
    "book.cells.terminal": "run_command",
    "book.drawing.attention": "draw_products draw_readings draw_sorted_weights draw_width_effect",
    "book.drawing.corpus_sizes": "corpus_size_table",
    "book.drawing.curves": "show_curves",
    "book.drawing.figures": "new_figure",
    "book.drawing.model_map": "draw_model_map",
    "book.exercises.masking": "count_leaks influence",
    "book.exercises.step_decoders": "FirstKeyOnly SamePosition Stale TableDecoder Unordered WithoutItself",
    "book.explorer.figure": "show_explorer",
    "book.page": "say",
    "book.prose": "read_prose",
    "book.results": "RESULTS read_result training_stages",
    "checkpointing.run_directory": "RunDirectory",
    "config": "BASE BIG TINY TransformerConfig",
    "decoding.beam": "Beams beam_search",
    "decoding.exact": "exact_search",
    "decoding.greedy": "greedy_search",
    "decoding.kv_cache": "KeyValueCache LayerCache NoCache",
    "decoding.length_penalty": "GnmtLength PlainLength",
    "decoding.sampling": "Temperature TopK TopP sample",
    "decoding.translator": "Translator",
    "evaluation.bleu": "multi30k_bleu sacrebleu sacrebleu_13a tokenizer_for",
    "fast.kv_cache": "FastKeyValueCache",
    "fast.modules": "fast_modules",
    "inspection.alignments": "ALIGNMENTS aligned_share word_attention",
    "inspection.contrasts": "CONTRASTS margins",
    "inspection.distance": "gradient_by_distance graph_depth",
    "inspection.heads": "KINDS ablate_head attention_maps attentions head_entropy",
    "inspection.hidden_units": "changed feed_forward_networks hidden_units largest unit_set",
    "inspection.induction": (
        "SYMBOLS continuation_loss diagonal_weight fit_repetitions induction_maps repetitions"
    ),
    "inspection.lens": "logit_lens",
    "inspection.mood_reader": "MOODS MOOD_WORDS fit_moods mood_sentences",
    "inspection.observation": "observe watching",
    "inspection.patching": "first_word_contrast restored",
    "inspection.probe": "layer_outputs probe_accuracy",
    "inspection.residual_stream": "shares split_stream",
    "inspection.shapes": "STATIONS axis_sizes record_outputs",
    "inspection.word_pairs": "OTHER_WORD_PAIRS WORD_PAIRS orthogonal_map token_ids unit_rows",
    "model.attention": (
        "AdditiveAttention FusedAttention ScaledDotProductAttention attention_weights masked_softmax"
    ),
    "model.copy_task": "AverageCopier VectorCopier",
    "model.decoder": "DecoderLayer",
    "model.embeddings": "TokenEmbedding",
    "model.encoder": "Encoder EncoderLayer",
    "model.feed_forward": "FeedForward",
    "model.initialization": "initialize",
    "model.lookup": "Captioner LearnedLookup gaussian_average",
    "model.masks": "causal_mask decoder_mask padding_mask",
    "model.multi_head_attention": "MultiHeadAttention",
    "model.normalization": "LayerNorm PostNorm PreNorm",
    "model.parameter_count": "parameter_counts",
    "model.pooling": "PooledHead mean_pool",
    "model.positional_encoding": "LearnedPositions SinusoidalPositions rotation sinusoids",
    "model.self_attention": "SelfAttention plain_self_attention",
    "model.transformer": "Transformer",
    "plotting.attention_map": "draw_attention",
    "plotting.palette": "FIRST INK SECOND",
    "text.batching": "batch_of encode_pairs fill_batches make_batches pad",
    "text.bpe_dropout": "BPEDropout",
    "text.cleaning": "clean",
    "text.sentence_pairs": "filter_reason keep_usable split_by_sentence",
    "text.tokenizer": "BOS_ID EOS_ID PAD_ID Tokenizer",
    "text.toy.pairs": "WordVocabulary toy_pairs",
    "text.toy.pronouns": "IT NOUNS PRONOUN_FEATURES encode_pronouns pronoun_sentences",
    "text.toy.reordered": "reordered_pairs",
    "text.toy.reviews": "REVIEW_WORDS Review all_reviews encode_reviews split_reviews",
    "text.toy.scenes": (
        "FEATURES ROLES SCENE_WORDS START Scenes THINGS VERBS caption_text draw_scenes "
        "draw_typical_scenes swap_roles"
    ),
    "text.toy.spanish": "spanish_pairs",
    "text.toy.tasks": "FIRST_SYMBOL copy_pairs reverse_pairs",
    "training.config": "TrainingConfig",
    "training.loss": "label_smoothed_cross_entropy mean_loss",
    "training.schedule": "learning_rate",
    "training.trainer": "train update",
}
MODULES = names_of(EXPORTS)


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in MODULES:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; a chapter imports from it what EXPORTS lists"
        )
    return getattr(import_module(f"annotated_transformer.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the names, for completion in an editor."""
    return sorted(MODULES)
