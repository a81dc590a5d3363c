"""The drawings of the chapter on Add & Norm."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from torch import Tensor

from annotated_transformer.book.drawing.add_and_norm import draw_add, draw_over, draw_stream
from annotated_transformer.book.drawing.boxes import Box, Point, draw_area, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import Numbers, cell, draw_matrix, row
from annotated_transformer.book.drawing.words import Curves, Words, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, MUTED, NEUTRAL, OUTPUT, SECOND

Cosines = Float[Tensor, "words words"]
Batch = Float[Tensor, "tokens features"]
Chosen = Callable[[int, int, int], bool]  # is an entry lit? By its sentence, token, and feature
ADDED = SECOND  # what a sub-layer adds to the stream
LOOKS = ((NEUTRAL, ":"), (MUTED, "-."), (FIRST, "-"), (SECOND, "--"))


def draw_alike(stacks: Mapping[str, Sequence[Cosines]], *, words: Words, depths: Words) -> Figure:
    """Draw how similar the words of a sentence are at several depths: one row of squares for each stack."""
    fig, ax = new_canvas(14.0, 10.4)
    pitch = min(3.05, 12.2 / len(depths))
    side = min(0.52, 0.9 * pitch / len(words))
    for place, (name, maps) in enumerate(stacks.items()):
        y = 6.0 - 5.15 * place
        write(ax, 0.1, y + 5 * side + 1.2, name, "left", weight="bold")
        for number, (cosines, depth) in enumerate(zip(maps, depths, strict=True)):
            x = 1.85 + pitch * number
            for i, line in enumerate(cosines.tolist()):
                for j, alike in enumerate(line):
                    corner = x + j * side, y + (len(words) - 1 - i) * side
                    share, edge = min(max(alike, 0.0), 1.0), to_rgba(MUTED, 0.5)
                    draw_area(ax, corner, side, side, FIRST, share, edgecolor=edge, lw=0.6)
            middle = x + len(words) * side / 2
            write(ax, middle, y + len(words) * side + 0.15, depth, height="bottom", color=MUTED)
            write(ax, middle, y - 0.15, f"{mean_cosine(cosines):.2f}", height="top")
        for i, word in enumerate(words):
            write(ax, 1.7, y + (len(words) - i - 0.5) * side, word, "right")
        write(ax, 1.7, y - 0.15, "mean", "right", "top", color=MUTED)
    return fig


def mean_cosine(cosines: Cosines) -> float:
    """Return the mean over all pairs of two different words."""
    count = len(cosines)
    return (cosines.sum() - cosines.trace()).item() / (count * (count - 1))


def draw_steps(steps: Mapping[str, Numbers], *, features: Words, notes: Words) -> Figure:
    """Draw Add & Norm on one token, step by step from top to bottom, a note at the right of each."""
    pitch = 1.75
    fig, ax = new_canvas(14.0, pitch * len(steps) + 1.8)
    looks = (FIRST, ADDED, FIRST, NEUTRAL, OUTPUT)
    for place, ((name, numbers), color, note) in enumerate(zip(steps.items(), looks, notes, strict=True)):
        y = pitch * (len(steps) - 1 - place) + 0.35
        columns = features if place == 0 else ()
        box = draw_matrix(ax, 3.65, y, numbers, color=color, size=(1.72, 0.95), columns=columns)
        write(ax, 3.5, box.center[1], name, "right", weight="bold")
        write(ax, box.right[0] + 0.2, box.center[1], note, "left", color=MUTED)
        if place > 1:
            above = box.center[0], box.y + pitch
            draw_arrow(ax, above, box.top)
    write(ax, 7.09, pitch * (len(steps) - 1) + 0.35 - (pitch - 0.95) / 2, "+")
    return fig


def draw_wiring() -> Figure:
    """Draw one layer with post-norm and one with pre-norm, from the input at the bottom to the output."""
    fig, ax = new_canvas(14.0, 18.4)
    for x, title, post in ((1.3, "Post-norm (the paper)", True), (8.5, "Pre-norm", False)):
        write(ax, x - 0.9, 18.0, title, "left", weight="bold")
        write(ax, x, 0.35, "$x$", fontsize=14)
        bottom = 0.75
        for name in ("attention", "feed-forward"):
            draw_stream(ax, x, bottom, bottom + 6.6)
            _draw_sublayer(ax, x, bottom, name, post=post)
            bottom += 6.6
        top = 16.6
        draw_stream(ax, x, bottom, top)
        if not post:
            draw_over(ax, Box(x - 1.1, 15.05, 3.4, 1.0), "final norm", color=SECOND)
        draw_arrow(ax, (x, top - 0.1), (x, 17.4), color=FIRST)
    return fig


def _draw_sublayer(ax: Axes, x: float, y: float, name: str, *, post: bool) -> None:
    """Draw a sub-layer at the right of the stream at `x`; its norm stands on the stream or on the branch."""
    parts = [(name, NEUTRAL), ("dropout", NEUTRAL)]
    if not post:
        parts.insert(0, ("norm", SECOND))
    boxes = [
        draw_box(ax, x + 1.15, y + 1.1 + 1.45 * place, 3.9, 1.0, label, color=color)
        for place, (label, color) in enumerate(parts)
    ]
    fork = boxes[0].bottom[0], y + 0.5
    draw_line(ax, (x, y + 0.5), fork)
    draw_arrow(ax, fork, boxes[0].bottom)
    for lower, upper in pairwise(boxes):
        draw_arrow(ax, lower, upper)
    draw_add(ax, boxes[-1], (x, boxes[-1].top[1] + 0.75))
    if post:
        draw_over(ax, Box(x - 1.1, y + 5.2, 2.2, 1.0), "norm", color=SECOND)


def draw_paths(paths: Mapping[str, tuple[Sequence[bool], float]]) -> Figure:
    """Draw the ways of a gradient down two residual sub-layers, one panel each.

    A path has, from the bottom, whether it leads through each sub-layer, and the size of what arrives.
    """
    pitch = 18.9 / len(paths)
    fig, ax = new_canvas(19.5, 9.4, width=WIDE)
    middles, half = (3.2, 6.3), 1.05
    for number, (name, (passed, size)) in enumerate(paths.items()):
        x = 0.8 + pitch * number
        beyond = x + 2.2
        draw_line(ax, (x, 8.0), (x, 1.5), color=NEUTRAL)
        way = [(x, 8.0)]
        for place, middle in reversed(list(enumerate(middles))):
            above, below = middle + half, middle - half
            branch = [(x, above), (beyond, above), (beyond, below), (x, below)]
            draw_line(ax, *branch, color=NEUTRAL)
            draw_over(ax, Box(beyond - 1.0, middle - 0.5, 2.0, 1.0), f"$F_{place + 1}$", color=NEUTRAL)
            way += branch if passed[place] else []
        across, up = zip(*way, (x, 1.85), strict=True)
        ax.plot(across, up, color=FIRST, lw=5, ls="-", marker="", zorder=2, solid_joinstyle="round")
        draw_arrow(ax, (x, 2.0), (x, 1.35), color=FIRST)
        write(ax, x, 8.2, "$g$", height="bottom")
        write(ax, x - 0.2, 1.25, f"{name}\nsize {size:.2f}", "left", "top")
    return fig


def draw_blocks(shape: tuple[int, int, int]) -> Figure:
    """Draw which entries of a batch of sentences share a mean in LayerNorm, and which in BatchNorm."""
    sentences, tokens, features = shape
    fig, ax = new_canvas(19.5, 0.8 * tokens + 0.45 * sentences + 3.0, width=WIDE)
    top = 0.8 * tokens + 0.45 * sentences + 2.4
    shared: tuple[tuple[str, str, str, Chosen], ...] = (
        ("LayerNorm: one mean per token", FIRST, "", lambda s, t, f: s == t == 0),
        ("BatchNorm: one per feature", SECOND, "///", lambda s, t, f: f == features - 1),
    )
    for x, (title, color, hatch, chosen) in zip((1.3, 11.3), shared, strict=True):
        _draw_block(ax, (x, 1.1), shape, chosen, color=color, hatch=hatch)
        right = x + 0.8 * features
        write(ax, x - 0.9, top, title, "left", weight="bold")
        write(ax, (x + right) / 2, 0.9, "features", height="top", color=MUTED)
        write(ax, x - 0.2, 1.1 + 0.4 * tokens, "tokens", "right", rotation=90, color=MUTED)
        write(ax, right + 0.25 * sentences + 0.25, 1.1, "sentences", "left", "bottom", color=MUTED)
    return fig


def _draw_block(
    ax: Axes, corner: Point, shape: tuple[int, int, int], chosen: Chosen, *, color: str, hatch: str
) -> None:
    """Draw the cells that are seen of a block, and fill the chosen ones.

    The first sentence is in front, its first token on top.
    """
    sentences, tokens, features = shape
    around = (0, 0), (0, 1), (1, 1), (1, 0)
    for s, t, f in product(range(sentences), range(tokens), range(features)):
        sides = []
        if s == 0:
            sides.append([(0, t + a, f + b) for a, b in around])
        if t == 0:
            sides.append([(s + a, 0, f + b) for a, b in around])
        if f == features - 1:
            sides.append([(s + a, t + b, features) for a, b in around])
        lit = chosen(s, t, f)
        face = to_rgba(color if lit else NEUTRAL, 0.7 if lit else 0.12)
        for side in sides:
            points = [
                (corner[0] + 0.8 * right + 0.45 * back, corner[1] + 0.8 * (tokens - down) + 0.45 * back)
                for back, down, right in side
            ]
            ax.add_patch(Polygon(points, facecolor=face, edgecolor=MUTED, hatch=hatch if lit else "", lw=0.8))


def draw_depth(sizes: Curves, gradients: Curves, *, ticks: Sequence[float | int]) -> Figure:
    """Draw, on logarithmic scales, the size of the stream after each sub-layer and the gradient before it."""
    fig, axes = new_figure(2, 1, height=6.0)
    panels = (sizes, "Standard deviation of the stream"), (gradients, "Norm of the gradient")
    for ax, (lines, title) in zip(axes, panels, strict=True):
        end = -1 if lines is sizes else 0  # the names stand where the lines part
        for (name, values), (color, style) in zip(lines.items(), LOOKS, strict=True):
            ax.plot(range(len(values)), values, color=color, linestyle=style, marker="")
            place = range(len(values))[end], values[end]
            offset, align = ((6, 0), "left") if end else ((-6, 0), "right")
            write_beside(ax, place, offset, name, align, "center")
        ax.set(yscale="log", yticks=ticks, yticklabels=[f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_title(title, loc="left")
        ax.set_xticks([0, 4, 8, 12])
    axes[0].set_xlim(0, 17.5)
    axes[1].set_xlim(-5.5, 12)
    axes[1].yaxis.set_label_position("right")
    axes[1].yaxis.tick_right()
    axes[1].set_xlabel("sub-layers passed")
    return fig


def draw_neighbor(
    batch: Batch, outputs: Mapping[str, Batch], before: Mapping[str, Batch], *, words: Words
) -> Figure:
    """Draw a batch whose last token changes, and below it the output of each normalization.

    A cell of a result is lit where it differs from `before`; so is the token that changes.
    """
    fig, ax = new_canvas(14.0, 9.4)
    size, last = (1.75, 0.9), len(words) - 1
    top = draw_matrix(ax, 5.0, 5.7, batch, color=NEUTRAL, rows=words, size=size, highlight=[row(last)])
    write(ax, top.center[0], 8.55, "batch", height="bottom", weight="bold")
    for x, (name, result) in zip((2.0, 8.4), outputs.items(), strict=True):
        changed = (result - before[name]).abs() > 0.005
        lit = [cell(i, j) for i, j in changed.nonzero().tolist()]
        rows = words if x < 5 else ()
        box = draw_matrix(ax, x, 0.95, result, color=OUTPUT, name=name, rows=rows, size=size, highlight=lit)
        draw_arrow(ax, (top.center[0] + (1 if x > 5 else -1), top.y), box.top)
    return fig


def draw_shares(stacks: Mapping[str, Curves], *, parts: Words) -> Figure:
    """Draw the share of a stack's output that each part contributes: a panel for each group of stacks.

    A panel's first group of bars belongs to the input; `parts` names the horizontal axes. The name of a stack
    stands where its bar is highest above those of the others.
    """
    fig, axes = new_figure(len(stacks), 1, height=2.4 * len(stacks))
    for ax, (title, groups), part in zip(axes, stacks.items(), parts, strict=True):
        width = 0.8 / len(groups)
        bars = zip(groups.items(), ((FIRST, ""), (SECOND, "///")), strict=False)
        for place, ((name, values), (color, hatch)) in enumerate(bars):
            left = [number - 0.4 + (place + 0.5) * width for number in range(len(values))]
            face = to_rgba(color, 0.75)
            ax.bar(left, values, width, facecolor=face, edgecolor=INK, hatch=hatch, lw=0.6)
            others = [other for other in groups if other != name]
            if others:
                leads = [value - max(groups[other][n] for other in others) for n, value in enumerate(values)]
                spot = leads.index(max(leads))
                ha = "left" if spot == 0 else "right" if spot == len(values) - 1 else "center"
                edge = {"left": -0.5, "right": 0.5, "center": 0.0}[ha] * width
                write(ax, left[spot] + edge, values[spot] + 0.012, name, ha, "bottom", weight="bold")
        count = len(next(iter(groups.values())))
        ax.set_xticks(range(count), ["in", *(str(number) for number in range(1, count))])
        ax.set(ylim=(0, 0.36), yticks=[0, 0.25], yticklabels=["0", "¼"])
        ax.set_title(title, loc="left")
        ax.set_xlabel(part)
    return fig
