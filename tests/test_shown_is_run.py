"""The defaults of training, validation, and translation run the lines that the chapters show.

Each edit is made in a copy of the package, as a reader makes it; `fast=True` then refuses, or changes alike.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parent.parent / "annotated_transformer"
ATTENTION, NORM, HEADS = (
    f"model/{name}.py" for name in ("attention", "normalization", "multi_head_attention")
)
EDITS = {  # file, old, new
    "the square root": (ATTENTION, " / math.sqrt(query.size(-1))", ""),
    "the mask": (ATTENTION, "scores.masked_fill(~(mask | blind), -math.inf)", "scores"),
    "the causal mask": ("model/masks.py", ").tril()", ").tril(1)"),
    "hidden": ("model/transformer.py", "return self.decode(", "return 2 * self.decode("),
    "a window in the mask": ("model/masks.py", ").tril()", ").tril().triu(-1)"),
    "the gain of a norm": (NORM, "self.gain * centered", "centered"),
    "the norm's ε": (NORM, "variance + self.eps", "variance + 9 * self.eps"),
    "the residual": (NORM, "x + self.dropout(sublayer(x))", "self.dropout(sublayer(x))"),
    "positions": ("model/positional_encoding.py", "return embedded + select", "return 0 * embedded + select"),
    "the embedding's scale": ("model/embeddings.py", " * math.sqrt(d_model)", ""),
    "the feed-forward network": (
        "model/feed_forward.py",
        "self.activation(self.expand(x))",
        "self.expand(x)",
    ),
    "attend of the heads": (HEADS, "self.attention(query, key", "-self.attention(query, key"),
    "the decoder layer": ("model/decoder.py", "x = self.add_norm_3(x, self.feed_forward)", "pass"),
    "the final norm": ("model/decoder.py", "x = self.final_norm(x)", "pass"),
    "the smoothing": ("model/loss.py", "- smoothing * log_probs", "- 2 * smoothing * log_probs"),
    "the schedule": ("training/schedule.py", "step**-0.5", "step**-0.4"),
    "Adam's β": ("training/schedule.py", "(0.9, 0.98)", "(0.8, 0.98)"),
    "Adam's ε": ("training/schedule.py", "1e-9", "1e-3"),
    "the length penalty": ("decoding/length_penalty.py", "(5 + length)", "(7 + length)"),
    "the temperature": ("decoding/sampling.py", "return logits / self.tau", "return logits * self.tau"),
}
ONLY_TRAINING = ["the smoothing", "the schedule", "Adam's β", "Adam's ε"]
ONLY_TRANSLATION = ["the length penalty", "the temperature"]
SCRIPT = """
import json, sys
from pathlib import Path

import torch

torch.set_num_threads(1)
folder, edits = sys.argv[1], json.loads(sys.argv[2])


def results(fast):
    from annotated_transformer.config import TransformerConfig
    from annotated_transformer.decoding import Temperature, Translator
    from annotated_transformer.model import Transformer
    from annotated_transformer.text.tokenizer import Tokenizer
    from annotated_transformer.training import TrainingConfig, encode_pairs, train

    texts = [("a dog sees the cat", "ein Hund sieht die Katze"), ("the cat", "die Katze"), ("dogs", "Hunde")]
    tokenizer = Tokenizer.train((text for pair in texts for text in pair), vocab_size=300)
    torch.manual_seed(3)
    shape = {"num_layers": 2, "d_model": 12, "d_ff": 20, "num_heads": 3, "final_norm": True, "dropout": 0.0}
    model = Transformer(TransformerConfig(vocab_size=tokenizer.vocab_size, max_length=60, **shape)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    chosen = {"fast": True} if fast else {}  # the default is tested

    def translate():
        translator = Translator(model, tokenizer, **chosen)
        best = translator.nbest([source for source, _ in texts], 2, beam_size=3)
        options = {"generator": torch.Generator().manual_seed(0), "logits_processors": [Temperature(0.3)]}
        drawn = translator.sample([texts[0][0]] * 9, **options)
        return [one.penalized_log_prob for each in best for one in each] + [float(len(x)) for x in drawn]

    def train_some():
        pairs = encode_pairs(tokenizer, texts)
        config = TrainingConfig(steps=3, batch_tokens=50, warmup_steps=2, max_lr=0.01, **chosen)
        metrics = train(model, pairs, config, generator=torch.Generator().manual_seed(0), validation=pairs)
        weights = sum(parameter.detach().abs().sum().item() for parameter in model.parameters())
        return [metrics[-1].training_loss, metrics[-1].validation_loss, weights]

    numbers = {}
    for name, compute in (("translate", translate), ("train", train_some)):
        try:
            numbers[name] = compute()
        except ValueError as error:
            numbers[name] = str(error)
    return numbers


sys.path.insert(0, folder)
for name, (file, old, new) in edits.items():
    path = Path(folder, "annotated_transformer", file)
    before = path.read_text("utf-8")
    path.write_text(before.replace(old, new, 1), "utf-8")
    for module in [x for x in sys.modules if x.partition(".")[0] == "annotated_transformer"]:
        del sys.modules[module]
    print(json.dumps([name, old in before, results(False), results(True)]), flush=True)
    path.write_text(before, "utf-8")
"""


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Return for each edit whether there was such a line, what the default computed, and `fast=True`."""
    folder = tmp_path_factory.mktemp("copy")
    left_out = shutil.ignore_patterns("__pycache__", "weights", "book", "commands")
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=left_out)
    edits = json.dumps({"nothing": ("config.py", "", ""), **EDITS})
    command = [sys.executable, "-B", "-c", SCRIPT, str(folder), edits]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return {name: rest for name, *rest in map(json.loads, done.stdout.splitlines())}


def differ(one: list[float], other: list[float]) -> bool:
    return one != pytest.approx(other, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", ["nothing", *EDITS])
def test_law_an_edited_formula_changes_the_default_and_fast_refuses_or_changes_alike(computed, name: str):
    exists, plain, fast = computed[name]
    assert exists
    before = computed["nothing"][1]
    assert differ(plain["train"], before["train"]) == (name not in ["nothing", *ONLY_TRANSLATION])
    assert differ(plain["translate"], before["translate"]) == (name not in ["nothing", *ONLY_TRAINING])
    for kind, result in fast.items():
        if isinstance(result, str):
            assert name != "nothing"
            assert "run without fast=True: your model computes something else" in result
        else:
            assert not differ(result, plain[kind])
