"""Where a model is trained: on the processor, or on a graphics card that knows CUDA."""

import os

import torch

DEVICES = ("cpu", "cuda")


def take_device(name: str | None) -> torch.device:
    """Return the device `name`, or without a name the best there is, and make it this process's own.

    Under torchrun, each process of a machine takes another graphics card.

    Raises:
        ValueError: If there is none for this process.
    """
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name is None and there == 0):
        return torch.device("cpu")
    if there == 0:
        raise ValueError(
            f"--device cuda, but PyTorch {torch.__version__} sees no CUDA device here; "
            f"give --device cpu, or install a PyTorch for CUDA and its driver"
        )
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    if rank >= there:
        raise ValueError(
            f"process {rank} of this machine finds {there} CUDA devices, all taken; "
            f"give torchrun --nproc-per-node={there}, or --device cpu"
        )
    torch.cuda.set_device(rank)
    return torch.device("cuda", rank)
