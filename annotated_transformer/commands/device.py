"""The device that a model is trained on: the CPU or a CUDA device."""

import os

import torch

DEVICES = ("cpu", "cuda")


def take_device(name: str | None) -> torch.device:
    """Return the device `name` and make it current; the default is CUDA if available, otherwise the CPU.

    Under torchrun, each process of a machine uses its own CUDA device.

    Raises:
        ValueError: If there is no such device for this process.
    """
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name is None and there == 0):
        return torch.device("cpu")
    if there == 0:
        raise ValueError(
            f"--device cuda, but PyTorch {torch.__version__} finds no CUDA device; "
            f"give --device cpu, or install the CUDA build of PyTorch and the driver"
        )
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    if rank >= there:
        raise ValueError(
            f"process {rank} of this machine has no CUDA device: there are {there}, one per process; "
            f"give torchrun --nproc-per-node={there}, or --device cpu"
        )
    torch.cuda.set_device(rank)
    return torch.device("cuda", rank)
