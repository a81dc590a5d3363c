"""The device on which a model runs: the only place that chooses one."""

import os

import torch


def take_device(device: torch.device | str | None = None) -> torch.device:
    """Return a device; the default is CUDA if available, otherwise the CPU.

    A CUDA device without a number becomes the current one: under torchrun, each process of a machine
    takes its own. What one process refuses, all refuse, because the others would wait for it.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    device = torch.device(device or ("cuda" if count else "cpu"))
    if device.type != "cuda":
        return device
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    processes = max(rank + 1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    if processes > count:
        raise ValueError(
            f"device={str(device)!r}, but PyTorch {torch.__version__} finds {count} CUDA devices for "
            f"{processes} processes of this machine; give 'cpu', or fewer processes, or install the CUDA "
            f"build of PyTorch and the driver"
        )
    if str(device) == "cuda":
        device = torch.device("cuda", rank)
        torch.cuda.set_device(rank)
    return device


def describe_device(device: torch.device) -> str:
    """Return the name of a device for the log."""
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)
