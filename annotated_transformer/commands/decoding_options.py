"""The options of beam search and of sampling."""

import argparse

LENGTH_PENALTIES = ("gnmt", "plain")
OTHER_NAMES = {  # arguments whose option has a different name, for error messages
    "beam_size": "beam",
    "tau": "temperature",
    "k": "top_k",
    "p": "top_p",
}


def add_search_options(command: argparse.ArgumentParser) -> None:
    """Add the options of beam search, and the number of texts in a batch."""
    search = command.add_argument_group("search")
    search.add_argument(
        "--batch-size",
        type=int,
        default=64,
        metavar="TEXTS",
        help="number of texts that are translated together (default: %(default)s)",
    )
    search.add_argument(
        "--beam",
        type=int,
        metavar="HYPOTHESES",
        help="number of hypotheses in the beam (default: 1, which is greedy search)",
    )
    search.add_argument(
        "--length-penalty",
        choices=LENGTH_PENALTIES,
        help="with --beam, the divisor of a log-probability: gnmt, the penalty of the paper, "
        "((5 + length) / 6) ** alpha; plain, length ** alpha (default: gnmt)",
    )
    search.add_argument(
        "--alpha",
        type=float,
        help="with --beam, exponent of the length penalty (default: 0.6 for gnmt, as in the paper; 1 for "
        "plain)",
    )


def add_sampling_options(command: argparse.ArgumentParser) -> None:
    """Add the options of sampling."""
    sampling = command.add_argument_group("sampling")
    sampling.add_argument(
        "--sample",
        action="store_true",
        help="sample each translation from the model's distribution (default: search for the best)",
    )
    sampling.add_argument(
        "--temperature",
        type=float,
        help="with --sample, divide the logits by this; below 1, likely tokens become more likely "
        "(default: 1)",
    )
    sampling.add_argument(
        "--top-k",
        type=int,
        metavar="TOKENS",
        help="with --sample, choose among this many most likely tokens (default: all)",
    )
    sampling.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="with --sample, choose among the most likely tokens that together have this probability "
        "(default: 1, all)",
    )
    sampling.add_argument(
        "--seed",
        type=int,
        help="with --sample, random seed, from 0 to 2**32 - 1; samples also depend on --batch-size "
        "(default: a new one each time, which is printed on stderr)",
    )
