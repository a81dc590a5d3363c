"""A processor that nobody here has: products of matrices add their terms in another order.

`make elsewhere NOISE=1` puts this folder on the path of every Python that it starts, so kernels and
commands compute in this way, without a line in the engine or the chapters. Only rounding moves: equal
inputs give equal results, and zeros stay zeros. What is replaced is below autograd, so it runs in the
backward pass, too.
"""

import os
import warnings
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.library import Library, get_kernel

ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
SEED = int(os.environ["NOISE"])
LIBRARY = Library("aten", "IMPL")  # what it registers lasts as long as it does


@cache
def order(length: int) -> Tensor:
    """Return the order in which a sum of `length` terms is taken."""
    with torch.inference_mode(False):
        return torch.randperm(length, generator=torch.Generator().manual_seed(SEED * 1_000_003 + length))


def permute_product(name: str, first: int) -> None:
    """Permute the inner dimension of two matrices, the arguments `first` and `first + 1`."""
    kernel = get_kernel(f"aten::{name}", "CPU")

    def permuted(keys: Any, *args: Any, **options: Any) -> Any:
        a, b = args[first : first + 2]
        if a.size(-1) == b.size(-2) and a.dtype == b.dtype:  # otherwise PyTorch's message names the shapes
            terms = order(a.size(-1))
            a, b = a.index_select(-1, terms), b.index_select(-2, terms)
        return kernel.call_boxed(keys, *args[:first], a, b, **options)

    LIBRARY.impl(name, permuted, "CPU", with_keyset=True, allow_override=True)


def permute_attention(name: str, query: int) -> None:
    """Permute keys, values, and mask; `query` is the place of the query among the arguments.

    Dropout and a causal mask made by the kernel depend on where a key stands.
    """
    kernel = get_kernel(f"aten::{name}", "CPU")

    def permuted(keys: Any, *args: Any, **options: Any) -> Any:
        key, value, mask = *args[query + 1 : query + 3], options.get("attn_mask")
        if any(args[3 + 3 * query :]) or key.size(-2) != value.size(-2):  # dropout_p, is_causal
            return kernel.call_boxed(keys, *args, **options)
        terms = order(key.size(-2))
        if mask is not None and mask.size(-1) == len(terms):
            options["attn_mask"] = mask.index_select(-1, terms)
        key, value = key.index_select(-2, terms), value.index_select(-2, terms)
        results = kernel.call_boxed(keys, *args[: query + 1], key, value, *args[query + 3 :], **options)
        if query:  # the gradients of query, key, and value
            back = terms.argsort()
            return results[0], results[1].index_select(-2, back), results[2].index_select(-2, back)
        return results

    LIBRARY.impl(name, permuted, "CPU", with_keyset=True, allow_override=True)


with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Warning only once for all operators")  # of what is replaced here
    for product, first in {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}.items():
        permute_product(product, first)
    permute_attention(ATTENTION, 0)
    permute_attention(f"{ATTENTION}_backward", 1)
