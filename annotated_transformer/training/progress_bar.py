"""The progress bar of a training run, shown in a terminal only: the chapter on training."""

from tqdm import tqdm

BAR = "{percentage:3.0f}%|{bar:10}| {elapsed}<{remaining}{postfix}"


class ProgressBar:
    """Show the completed fraction of a training run and a status line."""

    def __init__(self, *, disable: bool = False) -> None:
        """Prepare a bar; `disable` shows none."""
        self.disable = True if disable else None  # None: shown in a terminal only

    def __enter__(self) -> "ProgressBar":
        """Show the bar, in a terminal only."""
        self.bar = tqdm(total=1.0, disable=self.disable, bar_format=BAR)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the bar as it is."""
        self.bar.close()

    def advance(self, fraction: float, status: str) -> None:
        """Show the completed fraction, at most 1, and a status line."""
        self.bar.set_postfix_str(status)
        self.bar.update(min(fraction, 1.0) - self.bar.n)
