"""Detection of overridden methods and hooks, for the fast paths.

A fast path computes what a module computes without calling the module, so it must refuse a module
that was changed.
"""

from torch import nn


def overridden(module: nn.Module, kind: type[nn.Module], *methods: str) -> list[str]:
    """Return the names of the methods of `kind` that a subclass or the instance `module` overrides."""
    own = vars(module)
    return [
        name
        for name in methods
        if getattr(type(module), name) is not getattr(kind, name)
        or (name in own and not getattr(own[name], "same_in_evaluation", False))
    ]


def has_hooks(module: nn.Module) -> bool:
    """Return whether a forward or backward hook is registered on `module`."""
    hooks = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
    return any(getattr(module, name) for name in hooks)
