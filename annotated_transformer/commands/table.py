"""The commands: what each does, and its options. Nothing here imports PyTorch."""

import dataclasses
from typing import NamedTuple

from annotated_transformer.commands import options
from annotated_transformer.commands.arguments import Group
from annotated_transformer.config import TINY, TransformerConfig
from annotated_transformer.training.config import LIMITS, Recipe, TrainingConfig

DEFAULT_SHAPE = dataclasses.replace(TINY, vocab_size=4000, dropout=0.1)
DEFAULT_TRAINING = {  # where it differs from the paper's
    "steps": None,  # the user gives a limit
    "batch_tokens": 2048,
    "warmup_steps": 1000,  # with 200, the encoder may collapse: see `benchmarks/collapse.py`
    "max_lr": 3e-3,
}
ONLY_IN_FILE = ("pad_id", "bos_id", "eos_id")  # those of the tokenizer: fields without an option


class Command(NamedTuple):
    """A command: what its help says, the groups of its options, and examples without its name."""

    text: str
    groups: tuple[Group, ...]
    examples: tuple[str, ...]


def _without(config: type, *names: str) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(config) if field.name not in names)


CORPUS, MODEL, SEARCH, PROCESS = (
    Group(config)
    for config in (options.CorpusOptions, options.ModelOptions, options.SearchOptions, options.ProcessOptions)
)
THREADS = Group(options.ProcessOptions, ("threads",))
SHAPE = Group(
    TransformerConfig,
    _without(TransformerConfig, *ONLY_IN_FILE),
    "model (with --start, the defaults are those of its model, except for --dropout)",
    dataclasses.asdict(DEFAULT_SHAPE),
)
LENGTH = Group(TrainingConfig, LIMITS, "limits (give --minutes or --steps)", DEFAULT_TRAINING)
TRAINING = Group(TrainingConfig, _without(TrainingConfig, *LIMITS), "training", DEFAULT_TRAINING)
OWN_TRAINING_FILES = Group(options.OwnFileOptions, _without(options.OwnFileOptions, *options.TEST))
RECIPE = Group(Recipe, _without(Recipe, "shape", "training"), "recipe")

COMMANDS = {
    "translate": Command(
        "Translate each text, or each line of a file or of the standard input, and print one line for each.",
        (
            Group(options.TextOptions),
            *(MODEL, SEARCH, Group(options.SamplingOptions), Group(options.EngineOptions), PROCESS),
        ),
        ('"The weather is nice today."', "--model my_model --beam 5 --input texts.en --output texts.de"),
    ),
    "download": Command(
        "Download a public corpus to a folder, and print its terms of use.",
        (Group(options.DownloadOptions), THREADS),
        ("multi30k --to data",),
    ),
    "train": Command(
        "Train a tokenizer and a small model, and save both. SIGINT (Ctrl-C) and SIGTERM save a checkpoint "
        "before they end the run; a second signal ends it at once. An interrupted run resumes when the same "
        "command is given again. Under torchrun, several processes share each batch.",
        (
            *(CORPUS, OWN_TRAINING_FILES, Group(options.RunOptions)),
            *(SHAPE, LENGTH, TRAINING, RECIPE, PROCESS),
        ),
        (
            "--corpus toy --minutes 5 --out my_model",
            "--train-source a.txt --train-target b.txt \\\n"
            "      --source en --target es --minutes 30 --out my_model",
        ),
    ),
    "evaluate": Command(
        "Translate a split of a corpus and compare the translations with the references, or compare files "
        "that exist. Each metric is printed with the signature of its computation.",
        (*(Group(options.MetricOptions), CORPUS, Group(options.OwnFileOptions)), *(MODEL, SEARCH, PROCESS)),
        (
            "--model my_model --data data --split test",
            "--model my_model --test-source a.txt --test-target b.txt \\\n"
            "      --metric bleu,chrf,ter --output found.txt",
            "--hypotheses found.txt --references b.txt --metric chrf",
        ),
    ),
    "curves": Command(
        "Plot loss, learning rate, gradient norm and health of a training run, and describe the plot.",
        (Group(options.CurvesOptions), THREADS),
        ("my_model --to curves.svg",),
    ),
    "export": Command(
        "Write a model and its tokenizer in the format of another library. The model card travels along. "
        "A model with a part that the format does not have is refused.",
        (Group(options.ExportOptions), THREADS),
        (
            "--pretrained en-de --to marian --out en-de-marian",
            "--model my_model --to marian --out my_marian --dtype float16",
        ),
    ),
    "import": Command(
        "Read a model of another library, and save it as a model of this package, with its tokenizer and its "
        "model card. A model with a part that ours does not have is refused. Nothing is downloaded.",
        (Group(options.ImportOptions), THREADS),
        ("--from marian opus-mt-en-de --out en-de",),
    ),
    "grade": Command(
        "Execute readers' notebooks, each in a copy of its folder, and print which of their answers to the "
        "exercises are right. The status is 0 if all could be graded, whether or not the answers are right. "
        "All cells run, with your rights: grade the work of people you do not trust in a container.",
        (Group(options.GradeOptions), THREADS),
        ("_lab/04_self_attention.ipynb", "*.ipynb --jobs 2 --csv grades.csv"),
    ),
}
