"""The progress bar of a training run, shown in a terminal only: the chapter on training."""

from tqdm import tqdm

BAR = "{percentage:3.0f}%|{bar:10}| {elapsed}<{remaining}{postfix}"


def progress_bar(rank: int) -> "tqdm[None]":
    """Return a bar of the completed fraction of a training run, which rank 0 shows in a terminal."""
    return tqdm(total=1.0, disable=True if rank > 0 else None, bar_format=BAR)
