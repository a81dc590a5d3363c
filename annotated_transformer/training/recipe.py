"""From a corpus to a trained model in a folder: the chapter on training."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.epoch_checkpoints import average_last_epochs, save_epoch
from annotated_transformer.checkpointing.files import digest_tensors
from annotated_transformer.checkpointing.fingerprint import fingerprint
from annotated_transformer.checkpointing.ownership import refuse_foreign_model
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state import read_counters
from annotated_transformer.config import TransformerConfig
from annotated_transformer.fast.compilation import compile_stacks
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair
from annotated_transformer.text.bpe_dropout import BPEDropout, encode_pairs
from annotated_transformer.text.cleaning import SentencePair
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.distributed import Team
from annotated_transformer.training.metrics import Report
from annotated_transformer.training.trainer import train


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that decides a training, apart from its corpus and its seed.

    Attributes:
        shape: Of the model. So many entries are asked of the tokenizer, too; where it finds
            fewer, the model has no more.
        training: How long and how fast.
        bpe_dropout: Share of the tokenizer's merges that each epoch leaves out, others
            each time: `BPEDropout`' p.
        bidirectional: First epochs, in which the model learns to translate back as well: each
            pair is there twice, once as its own mirror image (Ding et al., 2021).
        average: Epochs whose weights' mean the model is in the end.
        compiled: Whether encoder and decoder are, by torch.compile.
    """

    shape: TransformerConfig
    training: TrainingConfig
    bpe_dropout: float = 0.0
    bidirectional: int = 0
    average: int = 1
    compiled: bool = False

    def __post_init__(self) -> None:
        """Refuse what would be found out only after the training, or after its first hours."""
        if self.average < 1:
            raise ValueError(f"average={self.average} is the mean of nothing; give 1 or more epochs")
        if self.bidirectional < 0:
            raise ValueError(
                f"bidirectional={self.bidirectional} is no number of epochs; give 0 (none) or more"
            )
        if not 0 <= self.bpe_dropout < 1:
            raise ValueError(
                f"bpe_dropout={self.bpe_dropout} is no share of the merges; give 0 (none) or more, below 1"
            )


def follow(
    recipe: Recipe,
    corpus: Corpus,
    folder: Path,
    *,
    seed: int,
    start: Path | None = None,
    device: torch.device | str = "cpu",
    save_seconds: float = 180.0,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[object], object] = lambda report: None,
) -> None:
    """Learn a tokenizer and a model from `corpus` into `folder`, or go on with that.

    A model in the folder `start` gives its tokenizer, and its weights to begin with. `folder`
    has the model after each epoch: the mean of the last ones. `say` is told each report. Of
    several processes, the first speaks and writes. `stop` is that of `train`.

    Raises:
        TrainingStopped: If `stop` asked for it; the folder has the state.
        ValueError: If the folder has another training, or a model that this one did not write,
            `start` a model of another shape, or `seed` has more than 32 bits.
    """
    _refuse_seed(seed)
    keeper = RunDirectory(folder, seconds=save_seconds)
    refuse_foreign_model(folder)  # before the tokenizer is learned, which takes time
    model, tokenizer = _beginning(recipe, corpus, seed, start)
    identity = _identity(recipe, corpus, tokenizer)
    if start is not None:
        identity["start"] = digest_tensors(model.state_dict())
    model.to(device)
    if recipe.compiled:
        compile_stacks(model)
    first = Team().rank == 0

    def keep(report: Report) -> None:
        if first:
            say(report)
            save_epoch(folder, report.epoch, model, tokenizer, keep=recipe.average)
            _save_mean(folder, recipe, keeper)

    held_out = corpus.splits.get("val")
    keeper.identity = identity
    with keeper:
        reports = train(
            model,
            _lessons(recipe, corpus.splits["train"], tokenizer, seed),
            recipe.training,
            generator=torch.Generator().manual_seed(seed),
            validation=None if held_out is None else encode_pairs(tokenizer, held_out),
            report=keep,
            keeper=keeper,
            stop=stop,
        )
        if first and not reports:  # nothing was left to do, but `average` may be new
            at = read_counters(folder)
            if at.batch:  # killed within an epoch, and now told to end there
                save_epoch(folder, at.epoch + 1, model, tokenizer, keep=at.epoch + 1)
            _save_mean(folder, recipe, keeper)


def _save_mean(folder: Path, recipe: Recipe, keeper: RunDirectory) -> None:
    """Save the mean of the last epochs' models as the model of this training."""
    mean = average_last_epochs(folder, last=recipe.average)
    checkpoint.save(folder, *mean, run=keeper.run_id)


def _beginning(
    recipe: Recipe, corpus: Corpus, seed: int, start: Path | None
) -> tuple[Transformer, Tokenizer]:
    """Return a new model and its tokenizer, or those in `start`, with the recipe's dropout."""
    if start is None:
        texts = (text for pair in corpus.splits["train"] for text in pair)
        tokenizer = Tokenizer.train(texts, vocab_size=recipe.shape.vocab_size)
    else:
        trained, tokenizer = checkpoint.load(start)
        _refuse_another_shape(start, trained.config, recipe.shape)
    tokenizer = tokenizer.cleaning() if corpus.cleaned else tokenizer
    torch.manual_seed(seed)  # for the first weights and for dropout
    shape = dataclasses.replace(recipe.shape, vocab_size=tokenizer.vocab_size)
    model = Transformer(shape)
    if start is not None:
        model.load_state_dict(trained.state_dict())
    return model, tokenizer


def _refuse_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise ValueError(
            f"seed={seed}, of which PyTorch's generator would use the last 32 bits, {seed % 2**32}; "
            f"give 0 to {2**32 - 1}"
        )


def _refuse_another_shape(start: Path, found: TransformerConfig, asked: TransformerConfig) -> None:
    differing = [
        f"{field.name}={getattr(found, field.name)!r}, not {getattr(asked, field.name)!r}"
        for field in dataclasses.fields(found)
        if field.name not in ("vocab_size", "dropout")
        and getattr(found, field.name) != getattr(asked, field.name)
    ]
    if differing:
        raise ValueError(
            f"the model in {start} has {' and '.join(differing)}; ask for its shape, or begin without it"
        )


def _lessons(
    recipe: Recipe, texts: list[SentencePair], tokenizer: Tokenizer, seed: int
) -> Callable[[int], list[Pair]]:
    """Return what there is to learn, as a function of the epoch."""
    mirrored = [(target, source) for source, target in texts] if recipe.bidirectional else []
    if recipe.bpe_dropout:
        longest = min(recipe.shape.max_length, recipe.training.batch_tokens)
        one_way, bidirectional = (
            BPEDropout(tokenizer, pairs, p=recipe.bpe_dropout, seed=seed, longest=longest)
            for pairs in (texts, texts + mirrored)
        )
        return lambda epoch: (bidirectional if epoch < recipe.bidirectional else one_way)(epoch)
    plain = encode_pairs(tokenizer, texts)
    plain_both = plain + encode_pairs(tokenizer, mirrored)
    return lambda epoch: plain_both if epoch < recipe.bidirectional else plain


def _identity(recipe: Recipe, corpus: Corpus, tokenizer: Tokenizer) -> dict[str, object]:
    """Return what two runs must share, besides what `train` knows of, to be one training."""
    found: dict[str, object] = {
        "corpus": fingerprint(corpus.splits["train"]),
        "tokenizer": fingerprint(tokenizer.to_json()),
        "bidirectional": recipe.bidirectional,
    }
    return found | ({"compile": "yes"} if recipe.compiled else {})  # dropout draws others
