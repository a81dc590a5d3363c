"""The options of the commands, apart from those that are fields of a config. Nothing here imports PyTorch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from annotated_transformer.commands.arguments import Option
from annotated_transformer.interop.formats import DTYPES, FORMATS, READ, WRITTEN
from annotated_transformer.text.corpus import CORPORA, published

TABLES = ("train_tsv", "valid_tsv", "test_tsv")
TEST = ("test_source", "test_target", "test_tsv")
OF_TRANSLATION = (  # what has no effect on translations that exist
    *("model", "pretrained", "device", "fast", "beam", "corpus", "data", "split", "output"),
    *("train_source", "valid_source", "test_source", *TABLES),
)


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """Corpus.

    Attributes:
        corpus: Name of the corpus; `None` means files.
        data: Folder of the corpus, or its parent; for files, it contains SPLIT.LANGUAGE or
            SPLIT.LANGUAGE.gz, such as train.en; if train is the only split, val and test are split off,
            about 5% of the pairs each; if there are others, the validation loss is that of val, valid,
            validation or dev; `None` means the environment variable ANNOTATED_TRANSFORMER_DATA.
        source: Code of the language to translate from; `None` means that of the model to evaluate, or en.
        target: Code of the language to translate into; `None` means that of the model to evaluate, or de.
    """

    corpus: Annotated[str | None, Option(choices=CORPORA, not_with=("train_source", "train_tsv"))] = None
    data: Annotated[Path | None, Option(not_with=("train_source", "train_tsv"))] = None
    source: str | None = None
    target: str | None = None


@dataclass(frozen=True, kw_only=True)
class OwnFileOptions:
    """Your own files, under any names.

    They replace --corpus and --data. Each may be compressed by gzip. Line i of a target file is the
    translation of line i of the source file; a TSV file has both, with a tab between its columns.

    Attributes:
        train_source: Source file of the split train; `None` means none.
        train_target: Target file of the split train; `None` means none.
        train_tsv: TSV file of the split train; `None` means none.
        valid_source: Source file of the split valid; `None` means none.
        valid_target: Target file of the split valid; `None` means none.
        valid_tsv: TSV file of the split valid; `None` means none.
        test_source: Source file of the split test; `None` means none.
        test_target: Target file of the split test; `None` means none.
        test_tsv: TSV file of the split test; `None` means none.
        columns: SOURCE,TARGET: columns of the TSV files, as numbers that count from 1, or as names in their
            first line; `None` means 1,2.
    """

    train_source: Annotated[Path | None, Option(file="read", only_with=("train_target",))] = None
    train_target: Annotated[Path | None, Option(file="read", only_with=("train_source",))] = None
    train_tsv: Annotated[Path | None, Option(file="read", not_with=("train_source",))] = None
    valid_source: Annotated[Path | None, Option(file="read", only_with=("valid_target",))] = None
    valid_target: Annotated[Path | None, Option(file="read", only_with=("valid_source",))] = None
    valid_tsv: Annotated[Path | None, Option(file="read", not_with=("valid_source",))] = None
    test_source: Annotated[Path | None, Option(file="read", only_with=("test_target",))] = None
    test_target: Annotated[Path | None, Option(file="read", only_with=("test_source",))] = None
    test_tsv: Annotated[Path | None, Option(file="read", not_with=("test_source",))] = None
    columns: Annotated[str | None, Option(only_with=TABLES)] = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Training run.

    Where it starts, and what it saves.

    Attributes:
        out: Folder of the training run: it gets the model, and the state to resume from.
        start: Folder of a trained model, or name of one in this package, to start from: with its shape,
            tokenizer and weights; `None` means new weights.
        save_minutes: Longest time between two checkpoints, in minutes.
        seed: Random seed, from 0 to 2**32 - 1.
        config: JSON file with fields of TransformerConfig and TrainingConfig, such as
            {"model": {"max_length": 512}, "training": {"warmup_steps": 400}}; options override it; `None`
            means no file.
        device: Device to train on; `None` means cuda if available, otherwise cpu.
    """

    out: Path
    start: Path | None = None
    save_minutes: float = 3.0
    seed: int = 0
    config: Annotated[Path | None, Option(file="read")] = None
    device: Literal["cpu", "cuda"] | None = None


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Texts.

    Attributes:
        texts: Text to translate; `None` means each line of the standard input.
        input: File with one text per line, plain or compressed by gzip; `None` means the standard input.
        output: File to write the translations to, line by line, compressed by gzip if its name ends in .gz;
            an older one is replaced; `None` means the standard output.
        skip_bad: Print a blank line for each text that cannot be translated, and translate the others.
        split: Translate each text sentence by sentence, except with --nbest.
        source: Code of the texts' language, such as de, whose abbreviations do not end a sentence; an unknown
            code counts as en; `None` means that of the model, or en if the model does not store it.
        nbest: Print the N best translations of each text, each after its log-probability divided by the
            length penalty, and a tab; without --beam, the beam is 4, or N if that is larger; `None` means
            only the best, without it.
    """

    texts: Annotated[tuple[str, ...], Option(flag="")] = ()
    input: Annotated[Path | None, Option(file="read", not_with=("texts",))] = None
    output: Annotated[Path | None, Option(file="write")] = None
    skip_bad: bool = False
    split: bool = True
    source: str | None = None
    nbest: Annotated[int | None, Option(not_with=("sample",))] = None


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Model.

    Attributes:
        model: Folder of a model that train wrote; `None` means the one of --pretrained.
        pretrained: Name of a model in this package: de-en or en-de; `None` means the one for --source and
            --target, or en-de.
        device: Device to translate on; `None` means cuda if available, otherwise cpu.
        fast: On a CPU, decode by the accelerated steps of annotated_transformer.fast; they are compared with
            the model first, and refused if they differ.
    """

    model: Annotated[Path | None, Option(not_with=("pretrained",))] = None
    pretrained: str | None = None
    device: Literal["cpu", "cuda"] | None = None
    fast: Annotated[bool, Option(not_with=("engine",))] = False


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Search.

    Attributes:
        batch_size: Number of texts that are translated together.
        beam: Number of hypotheses in the beam; `None` means 1, which is greedy search.
        length_penalty: With --beam, the divisor of a log-probability: gnmt, the penalty of the paper,
            ((5 + length) / 6) ** alpha; plain, length ** alpha; `None` means gnmt.
        alpha: With --beam, exponent of the length penalty; `None` means 0.6 for gnmt, as in the paper, and 1
            for plain.
    """

    batch_size: int = 64
    beam: Annotated[int | None, Option(not_with=("sample",))] = None
    length_penalty: Annotated[
        Literal["gnmt", "plain"] | None, Option(only_with=("beam", "nbest"), not_with=("sample",))
    ] = None
    alpha: Annotated[float | None, Option(only_with=("beam", "nbest"), not_with=("sample",))] = None


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """Sampling.

    Attributes:
        sample: Sample each translation from the model's distribution.
        temperature: Divide the logits by this; below 1, likely tokens become more likely; `None` means 1.
        top_k: Choose among this many most likely tokens; `None` means all.
        top_p: Choose among the most likely tokens that together have this probability; `None` means 1, all.
        seed: Random seed, from 0 to 2**32 - 1; samples also depend on --batch-size; `None` means a new one
            each time, which is printed on stderr.
    """

    sample: Annotated[bool, Option(not_with=("engine",))] = False
    temperature: Annotated[float | None, Option(only_with=("sample",))] = None
    top_k: Annotated[int | None, Option(only_with=("sample",))] = None
    top_p: Annotated[float | None, Option(only_with=("sample",))] = None
    seed: Annotated[int | None, Option(only_with=("sample",))] = None


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Engine.

    Attributes:
        engine: Library that searches instead of this package, on the CPU; its beam search is a different one,
            and it needs pip install '.[interop]' in the folder of this book; `None` means this package.
        engine_dtype: Type that the weights are rounded to; `None` means float32.
    """

    engine: Literal["ctranslate2"] | None = None
    engine_dtype: Annotated[
        Literal["float32", "int8", "bfloat16", "float16"] | None, Option(only_with=("engine",))
    ] = None


@dataclass(frozen=True, kw_only=True)
class MetricOptions:
    """Metrics and files.

    Attributes:
        metric: What to compute, separated by commas: bleu, chrf, chrf++, ter; less is better for ter, which
            is slower than the others.
        protocol: How to compute BLEU; multi30k: lowercased and tokenized by Moses.
        bleu_tokenizer: Tokenizer of sacreBLEU, such as 13a, zh, ja-mecab, ko-mecab, or char; `None` means the
            one for the target language.
        split: Split to translate, such as test_2016_flickr; `None` means test.
        output: File to write the translations to, one per line, for other metrics; compressed by gzip if its
            name ends in .gz; an older one is replaced; `None` means none.
        hypotheses: File with translations to evaluate, one per line; `None` means to translate a split with a
            model.
        references: File with a reference for each hypothesis, one per line, or several such files; `None`
            means those of the split.
    """

    metric: str = "bleu"
    protocol: Literal["sacrebleu", "multi30k"] = "sacrebleu"
    bleu_tokenizer: str | None = None
    split: str | None = None
    output: Annotated[Path | None, Option(file="write")] = None
    hypotheses: Annotated[
        Path | None, Option(file="read", only_with=("references",), not_with=OF_TRANSLATION)
    ] = None
    references: Annotated[tuple[Path, ...] | None, Option(file="read", only_with=("hypotheses",))] = None


@dataclass(frozen=True, kw_only=True)
class DownloadOptions:
    """Download.

    Attributes:
        corpus: Name of the corpus.
        to: Folder to download the corpus to.
    """

    corpus: Annotated[str, Option(flag="", choices=published())]
    to: Path


@dataclass(frozen=True, kw_only=True)
class CurvesOptions:
    """Plot.

    Attributes:
        folder: Folder of a training run, finished or not.
        to: Image to write, .svg, .png or .pdf; without an extension, an SVG image.
    """

    folder: Annotated[Path, Option(flag="")]
    to: Annotated[Path, Option(file="write")]


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Export.

    Attributes:
        model: Folder of a model that train wrote; `None` means the one of --pretrained.
        pretrained: Name of a model in this package: de-en or en-de; `None` means the one of --model.
        to: Format.
        out: Folder to write to, new or empty.
        dtype: Type of the weights; `None` means that of the model, or of the format.
    """

    model: Annotated[Path | None, Option(not_with=("pretrained",))] = None
    pretrained: str | None = None
    to: Annotated[str, Option(choices={name: FORMATS[name] for name in WRITTEN})]
    out: Path
    dtype: Annotated[str | None, Option(choices=DTYPES)] = None


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Import.

    Attributes:
        path: The folder of the model.
        format: Format.
        out: Folder to write to, new or empty.
    """

    path: Annotated[Path, Option(flag="")]
    format: Annotated[str, Option(flag="from", choices={name: FORMATS[name] for name in READ})]
    out: Path


@dataclass(frozen=True, kw_only=True)
class GradeOptions:
    """Notebooks.

    Attributes:
        notebooks: A reader's chapter.
        csv: Write the table as CSV to this file (-: to stdout); `None` means no file.
        jobs: Notebooks at once.
        timeout: Seconds for a cell, which is then interrupted.
    """

    notebooks: Annotated[tuple[Path, ...], Option(flag="")]
    csv: Path | None = None
    jobs: int = 1
    timeout: float = 120.0


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """Process.

    Attributes:
        threads: Number of CPU threads; `None` means 1 where texts are translated and OMP_NUM_THREADS is not
            set, otherwise PyTorch's choice.
        own_code: Module to import first, in which your code registers an attention; `None` means none.
    """

    threads: int | None = None
    own_code: Annotated[str | None, Option(flag="import")] = None
