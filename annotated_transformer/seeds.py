"""Random seeds, of training runs and of sampled translations."""


def refuse_seed(seed: int) -> None:
    """Refuse a seed that PyTorch's CPU generator would truncate.

    Raises:
        ValueError: If it has more than 32 bits, or is negative.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(
            f"seed={seed}, of which PyTorch's generator would use the last 32 bits, {seed % 2**32}; "
            f"give 0 to {2**32 - 1}"
        )
