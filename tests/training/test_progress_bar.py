"""The progress bar shows the metrics of the training run."""

import dataclasses
import functools
import io
import itertools
import re

from annotated_transformer.text.batching import make_batches
from annotated_transformer.training import stopwatch, trainer
from annotated_transformer.training.trainer import train
from tests.small_training import BRIEF, model, rng


def test_law_the_bar_shows_step_loss_rate_speed_and_the_time_left(monkeypatch, copy_pairs):
    terminal, seconds = io.StringIO(), itertools.count(0.0, 1.0)
    terminal.isatty = lambda: True
    bar = functools.partial(trainer.tqdm, file=terminal, mininterval=0.0)
    monkeypatch.setattr(trainer, "tqdm", bar)
    monkeypatch.setattr(stopwatch.time, "monotonic", lambda: next(seconds))
    pairs, config = copy_pairs(97, seed=0), dataclasses.replace(BRIEF, steps=4)
    labels = [b.num_labels for b in make_batches(pairs, batch_tokens=53, generator=rng())[:4]]
    (report,) = train(model(), pairs, config, generator=rng())
    screens = re.findall(r"(\d+)%\|[^|]+\| [\d:]+<(\S+), step (\d+), ([^\r]*)", terminal.getvalue())
    assert {step for _, _, step, _ in screens} == set("1234")
    share, left, step, note = screens[-1]
    assert (share, left, step) == ("100", "00:00", "4")
    assert re.match(rf"loss \d\.\d{{3}}, lr {report.lr:.1e}, {sum(labels) / 4:.0f} tokens/s", note)
