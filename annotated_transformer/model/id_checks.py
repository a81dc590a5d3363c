"""Checks of token ids and padding, for the decorator `refuses` of `checks`.

In a traced program (`torch.export`, `torch.compile`) and on the device "meta", tensors have shapes
but no values, so checks of values are skipped. They are skipped for what `checked_ids` returns, too.
"""

from typing import Any

import torch
from torch import Tensor

from annotated_transformer.calls import warn


def checked_ids(model: Any, src: Tensor, tgt: Tensor) -> tuple[Tensor, Tensor]:
    """Check a batch where it is, and return its ids on the device of the model, marked as checked.

    The model does not check the values of marked ids, whatever methods a subclass overrides. On a GPU,
    each of these checks would make the CPU wait.
    """
    unfit_batch(model, src, tgt)
    for ids in (src, tgt):
        refuse_outside(ids, model.config.vocab_size)
    device = next(model.parameters()).device
    src, tgt = src.detach().to(device), tgt.detach().to(device)  # not the caller's
    src.ids_are_checked = tgt.ids_are_checked = True  # type: ignore[attr-defined]
    return src, tgt


def check_ids(ids: Tensor, name: str = "token ids") -> None:
    """Refuse anything but a batch of token ids."""
    if not isinstance(ids, Tensor):
        raise TypeError(
            f"{name} are of type {type(ids).__name__}; give torch.tensor([[…], …])"
        )
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} have dtype {ids.dtype}; give torch.int64")
    if ids.ndim != 2:
        raise ValueError(
            f"{name} have shape {tuple(ids.shape)}; give (batch, tokens): "
            f"for one sentence, ids[None] has shape (1, tokens)"
        )


def foreign_ids(self: Any, ids: Tensor) -> None:
    """Raise the errors of `check_ids`, or ValueError if an id has no row in the matrix."""
    check_ids(ids)
    refuse_outside(ids, len(self.weight))


def refuse_outside(ids: Tensor, vocab_size: int) -> None:
    """Raise ValueError if an id is not in the vocabulary; a graph would count negative ones from the end."""
    if _skips_values(ids) or ids.numel() == 0:
        return
    if not 0 <= int(ids.min()) <= int(ids.max()) < vocab_size:
        raise ValueError(
            f"token ids {int(ids.min())} to {int(ids.max())} do not fit "
            f"a vocabulary of {vocab_size}, 0 to {vocab_size - 1}; "
            f"encode the text with this model's own tokenizer"
        )


def check_step(tokens: Tensor, rows: int, length: int, max_length: int) -> None:
    """Refuse a step that a decoder cannot take."""
    if tokens.shape != (rows,):
        raise ValueError(
            f"tokens have shape {tuple(tokens.shape)}, and there are {rows} targets; give one token for each"
        )
    if length >= max_length:
        raise ValueError(
            f"the targets have {length} tokens, and the model has {max_length} positions; "
            f"end them earlier, or build the model with a larger max_length"
        )


def unfit_batch(self: Any, src: Tensor, tgt: Tensor) -> None:
    """Refuse sources and targets that are not those of one batch."""
    check_ids(src, "source ids")
    check_ids(tgt, "target ids")
    if src.size(0) != tgt.size(0):
        raise ValueError(
            f"{len(src)} sources but {len(tgt)} targets; give one target for each source"
        )
    _refuse_empty(src, self.config)
    padding_between_tokens(self, src, tgt)


def unmasked_source(self: Any, src: Tensor, src_mask: Tensor | None = None) -> None:
    """Raise ValueError if sources have padding, and there is no mask to hide it."""
    if src_mask is None:
        _refuse_padding("source", src, self.config.pad_id, "padding_mask(src, pad_id)")


def unmasked_target(
    self: Any,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: object = None,
) -> None:
    """Raise ValueError if targets have padding, and there is no mask to hide it."""
    if tgt_mask is None:
        _refuse_padding("target", tgt, self.config.pad_id, "decoder_mask(tgt, pad_id)")


def _refuse_padding(name: str, ids: Tensor, pad_id: int, mask: str) -> None:
    check_ids(ids)
    if not _skips_values(ids) and (padded := (ids == pad_id).any(dim=1)).any():
        raise ValueError(
            f"{name} {int(padded.nonzero()[0]) + 1} of {len(ids)} has padding (pad_id={pad_id}), and without "
            f"a mask the other tokens would attend to it; give the mask {mask} of model.masks"
        )


def _refuse_empty(src: Tensor, config: Any) -> None:
    if _skips_values(src):
        return
    pad_id, eos_id = config.pad_id, config.eos_id
    if (empty := (src == pad_id).all(dim=1)).any():
        raise ValueError(
            f"source {int(empty.nonzero()[0]) + 1} of {len(src)} is empty: it holds "
            f"nothing but padding (pad_id={pad_id}); end every source with eos_id={eos_id}"
        )


def padding_between_tokens(self: Any, src: Tensor, tgt: Tensor) -> None:
    """Raise ValueError if a token follows padding, which would hide a place and shift the others."""
    pad_id = self.config.pad_id
    for name, ids in (("source", src), ("target", tgt)):
        if _skips_values(ids):
            continue
        is_pad = ids == pad_id
        if (followed := is_pad[:, :-1] & ~is_pad[:, 1:]).any():
            row, place = followed.nonzero()[0].tolist()
            raise ValueError(
                f"{name} {row + 1} of {len(ids)} has padding (pad_id={pad_id}) as token {place + 1}, before "
                f"another; pad only behind the last token"
            )


def warn_without_eos(src: Tensor, config: Any) -> None:
    """Warn of sources without EOS at their end, where the tokenizers of this package put it."""
    last = (src != config.pad_id).sum(dim=1, keepdim=True) - 1
    _warn_unless(
        src.gather(1, last) == config.eos_id, "source", "end", "eos_id", config
    )


def warn_without_bos(prompts: Tensor, config: Any) -> None:
    """Warn of prompts without BOS at their start, where every target has it."""
    _warn_unless(prompts[:, :1] == config.bos_id, "prompt", "begin", "bos_id", config)


def _warn_unless(right: Tensor, name: str, verb: str, token: str, config: Any) -> None:
    if not right.all():
        row = int((~right).nonzero()[0, 0]) + 1
        warn(
            f"{name} {row} of {len(right)} does not {verb} with {token}={getattr(config, token)}, so a "
            f"model trained with it gives other results; add it, as a Tokenizer does, unless yours had none"
        )


def _skips_values(x: Tensor) -> bool:
    if torch.compiler.is_compiling() or x.is_meta:
        return True
    return getattr(x, "ids_are_checked", False)
