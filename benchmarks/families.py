"""Which parts do well-known models have? Read from their code in Hugging Face Transformers.

    python -m benchmarks.families

For each family, we build two layers of the library's class on the device "meta", where no weight takes
memory, and look: which norms it has and when it calls them, how it encodes positions, whether its
feed-forward network is gated, and which parameters are biases. Numbers of heads, windows, and experts are
those of the class's default configuration, which the library describes as similar to one published model.
"""

import inspect
import re
from typing import Any

import torch
from torch import nn

from benchmarks.record import begin, write_result

FAMILIES = {  # the name of the library's class, and the model that its defaults describe
    "GPT2": "GPT-2",
    "T5": "T5",
    "Bloom": "BLOOM",
    "Llama": "Llama 2 7B",
    "Mistral": "Mistral 7B",
    "Mixtral": "Mixtral 8x7B",
    "Gemma": "Gemma 7B",
    "Gemma2": "Gemma 2 2B",
    "Gemma3Text": "Gemma 3",
    "Qwen2": "Qwen2",
    "Qwen3": "Qwen3",
    "Qwen3Moe": "Qwen3 MoE",
    "DeepseekV3": "DeepSeek-V3",
    "Olmo2": "OLMo 2",
    "GptOss": "gpt-oss-120b",
}
LAYERS = ("num_hidden_layers", "num_layers", "n_layer")
NORM = re.compile(r"norm|^ln_", re.IGNORECASE)
BRANCH = re.compile(r"attn|attention|mlp|DenseReluDense", re.IGNORECASE)
PLACES = {  # of the norms of a layer, by the order in which it calls norms (n) and sub-layers (s)
    "nsns": "before",
    "nsnsns": "before",
    "snsn": "after, on the branch",
    "nsnnsn": "before and after",
}


def built(family: str) -> tuple[Any, nn.Module]:
    """Return the default configuration of a family, and two layers of its model without values."""
    import transformers

    config, small = (getattr(transformers, f"{family}Config")() for _ in range(2))
    for name in LAYERS:
        if hasattr(small, name):
            setattr(small, name, 2)
    if hasattr(small, "first_k_dense_replace"):
        small.first_k_dense_replace = 1  # the second layer has experts, as all but the first few do
    with torch.device("meta"):
        return config, transformers.AutoModel.from_config(small)


def layer_of(model: nn.Module) -> nn.Module:
    """Return the last layer of the last stack of two."""
    stacks = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    outer = [stack for stack in stacks if len(stack) == 2 and type(stack[0]) is type(stack[1])]
    return outer[-1][-1]


def calls(layer: nn.Module) -> str:
    """Return the order in which a layer calls norms (n) and sub-layers (s), from its source."""
    blocks = getattr(layer, "layer", [layer])  # T5: each sub-layer is a module of its own
    source = "".join(inspect.getsource(type(block).forward) for block in blocks)
    names = re.findall(r"self\.(\w+)\(", source)
    return "".join("n" if NORM.search(name) else "s" if BRANCH.search(name) else "" for name in names)


def positions_of(model: nn.Module) -> str:
    """Return how a model encodes positions."""
    source = inspect.getsource(inspect.getmodule(type(model)))  # type: ignore[arg-type]
    if any("Rotary" in type(module).__name__ for module in model.modules()):
        return "rotary"
    if any(name.endswith("relative_attention_bias") for name, _ in model.named_modules()):
        return "relative bias"
    return "ALiBi" if "build_alibi" in source else "learned"


def describe(family: str) -> dict[str, Any]:
    """Return what a row of the table has; a KeyError names calls that `PLACES` does not know."""
    config, model = built(family)
    layer = layer_of(model)
    parameters = [name for name, _ in layer.named_parameters()]
    norms = {type(m).__name__ for name, m in layer.named_modules() if NORM.search(name.split(".")[-1])}
    experts = getattr(config, "num_local_experts", None)
    heads = getattr(config, "num_attention_heads", None)
    return {
        "norm": "LayerNorm" if norms == {"LayerNorm"} else "RMSNorm",
        "place": PLACES[calls(layer)],
        "norm_of_queries": any("q_norm" in name for name in parameters),
        "positions": positions_of(model),
        "gated": any("gate_proj" in name or "gate_up_proj" in name for name in parameters),
        "biases": sorted(
            {
                "queries, keys, values" if re.search("[qkv]_proj", name) else "others"
                for name in parameters
                if name.endswith("bias")
            }
        ),
        "layers": next(getattr(config, name) for name in LAYERS if hasattr(config, name)),
        "heads": heads,
        "d_k": getattr(config, "head_dim", None),
        "kv_heads": getattr(config, "num_key_value_heads", heads),
        "latent": getattr(config, "kv_lora_rank", None),
        "window": getattr(config, "sliding_window", None),
        "windows_in": _share(getattr(config, "layer_types", None)),
        "experts": experts,
        "active": getattr(config, "num_experts_per_tok", None) if experts else None,
    }


def _share(kinds: list[str] | None) -> str | None:
    """Return how many layers of how many have a window, in the smallest numbers that repeat."""
    if not kinds or "sliding_attention" not in kinds:
        return None
    period = kinds.index("full_attention") + 1
    return f"{period - 1} of {period}"


def main() -> None:
    """Look at all families, and write the result."""
    begin(__doc__)
    rows = {title: {"class": family, **describe(family)} for family, title in FAMILIES.items()}
    write_result("families", {"rows": rows})


if __name__ == "__main__":
    main()
