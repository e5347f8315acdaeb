"""A picture of a search's tree: levels downwards, wide edges where many visits went."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from jackdaw.search.trees import CpuTree, TreeNode

MOST_NODES = 2000  # the most visited ones
VALUE_FRAC = 20


def draw(tree: CpuTree, path: Path, title: str = "") -> int:
    """Draw the tree of the last search.

    Args:
        tree: the compiled tree.
        path: of the picture; its ending says which kind.
        title: above it.
    Returns: nodes that are shown, the most visited ones.
    Raises: ValueError for a kind that is unknown.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.collections import LineCollection

    nodes = [tree.node(i) for i in range(len(tree))]
    x, shown = _places(nodes)
    lines, widths, values = [], [], []
    for number in shown:
        node = nodes[number]
        for child, n, w in zip(node.child.tolist(), node.n.tolist(), node.w.tolist(), strict=True):
            if child in x:
                lines.append([(x[number], node.level), (x[child], node.level + 1)])
                widths.append(n)
                values.append(w / max(n, 1) / 2**VALUE_FRAC)
    share = np.array(widths or [1]) / max(nodes[0].visits, 1)
    figure, axes = pyplot.subplots(figsize=(11, 5.5), layout="constrained")
    drawn = LineCollection(lines, linewidths=0.3 + 7 * share, cmap="viridis", capstyle="round")
    drawn.set_array(np.array(values))
    axes.add_collection(drawn)
    across, down = [x[number] for number in shown], [nodes[number].level for number in shown]
    axes.scatter(across, down, s=4, color="0.25", zorder=3)
    deepest = max(node.level for node in nodes)
    axes.set(ylabel="level", title=title, xticks=[], yticks=range(deepest + 1))
    axes.invert_yaxis()
    figure.colorbar(drawn, ax=axes, label="mean value of the edge", shrink=0.8)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return len(shown)


def _places(nodes: list[TreeNode]) -> tuple[dict[int, float], list[int]]:
    """Where nodes stand from left to right, parents above the middle of their children."""
    visits = np.array([node.visits for node in nodes])
    order = np.argsort(-visits, kind="stable")[:MOST_NODES]
    kept = set(order.tolist()) | {0}
    x: dict[int, float] = {}
    shown: list[int] = []
    right, stack = 0.0, [(0, False)]
    while stack:
        number, below = stack.pop()
        children = [c for c in nodes[number].child.tolist() if c in kept]
        if below or not children:
            if children:
                x[number] = (x[children[0]] + x[children[-1]]) / 2
            else:
                x[number], right = right, right + 1
            shown.append(number)
            continue
        stack.append((number, True))
        stack.extend((child, False) for child in reversed(children))
    return x, shown
