"""SentencePiece models as segmentations of the `tokenizers` library."""

from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from annotated_transformer.interop.libraries import needed, not_carried_over

UNKNOWN = " <unk>"  # the model's piece for it; a text in pieces has no space, so it cannot contain this one
NORMAL, UNK, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # types of pieces
REFUSED = {USER_DEFINED: "user-defined symbols", UNUSED: "unused pieces", BYTE: "pieces for bytes"}


def read_spm(path: Path) -> Tokenizer:
    """Return the segmentation of a unigram model that SentencePiece has trained.

    Its ids are its own. The result is that of SentencePiece, but for texts with characters that only
    SentencePiece's normalization of longer sequences changes, and where two segmentations are equally likely.
    """
    purpose = "reading a SentencePiece model"
    proto = needed("sentencepiece.sentencepiece_model_pb2", purpose).ModelProto()
    error = needed("google.protobuf.message", purpose).DecodeError
    try:
        proto.ParseFromString(path.read_bytes())
    except error as problem:
        raise ValueError(f"{path} is not a SentencePiece model ({problem}); download it again") from problem
    _refuse_other_model(path, proto)
    pieces = [(piece.piece, piece.score) for piece in proto.pieces if piece.type == NORMAL]
    backend = Tokenizer(models.Unigram([(UNKNOWN, 0.0), *pieces], unk_id=0))
    charsmap = proto.normalizer_spec.precompiled_charsmap
    backend.normalizer = normalizers.Sequence(
        [
            *([normalizers.Precompiled(charsmap)] if charsmap else []),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    return backend


def _refuse_other_model(path: Path, proto: object) -> None:
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec  # type: ignore[attr-defined]
    if trainer.model_type != trainer.UNIGRAM:
        kind = trainer.ModelType.Name(trainer.model_type)
        raise not_carried_over(f"{path} is of the type {kind}", ": only UNIGRAM can")
    for piece in proto.pieces:  # type: ignore[attr-defined]
        if piece.type in REFUSED:
            raise not_carried_over(f"{path} has {REFUSED[piece.type]} ({piece.piece!r})")
    for name in ("remove_extra_whitespaces", "add_dummy_prefix"):
        if not getattr(normalizer, name):
            raise not_carried_over(f"{path} has {name}=False")
