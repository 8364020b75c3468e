"""Builds left-balanced k-d trees by their definition, as arrays; knows no kernel."""

import numpy as np

from gpusim.lab.own.kernel import Stored


def _descendants(n: int, nodes: Stored) -> Stored:
    """Return how many of the n nodes are in the subtree of each node; node i has the children 2 i + 1 and 2 i + 2."""
    first, width, count = nodes.astype(np.int64), 1, np.zeros(len(nodes), np.int64)
    while len(first) and first.min() < n:
        count += np.clip(n - first, 0, width)
        first, width = 2 * first + 1, 2 * width
    return count


def node_of_each(n: int, level: int) -> Stored:
    """
    Return the node whose subtree each of n points is in, down to a level; points lie in the order of these nodes.

    Points of the levels above are nodes themselves.
    """
    nodes = np.arange((1 << level) - 1, (2 << level) - 1)
    return np.concatenate([np.arange(nodes[0]), np.repeat(nodes, _descendants(n, nodes))])[:n]


def split_of_each(n: int, level: int) -> Stored:
    """Return ``node_of_each`` after each subtree of a level is split into its node's left and right ones."""
    nodes = np.arange((1 << level) - 1, (2 << level) - 1)
    sizes, left = _descendants(n, nodes), _descendants(n, 2 * nodes + 1)
    begin = nodes[0] + np.cumsum(sizes) - sizes
    pivots = np.repeat(begin + left, sizes)
    own, at = node_of_each(n, level), np.arange(n)
    below = own[nodes[0] :]
    apart = np.sign(at[nodes[0] :] - pivots)
    own[nodes[0] :] = np.where(apart < 0, 2 * below + 1, np.where(apart > 0, 2 * below + 2, below))
    return own


def tree_of(points: Stored) -> tuple[Stored, Stored, Stored]:
    """
    Return a tree of points [n, dims]: the points in its order, the index of each, and the least and largest
    coordinates of the leaves below each node.
    """
    n, dims = points.shape
    tree, index, nodes = points, np.arange(n), np.zeros(n, np.int64)
    for level in range(n.bit_length()):
        order = np.lexsort((tree[:, level % dims], nodes))
        tree, index, nodes = tree[order], index[order], split_of_each(n, level)
    bounds = np.stack([tree, tree], -1)
    for node in reversed(range(n // 2)):
        children = bounds[2 * node + 1 : 2 * node + 3]
        bounds[node] = np.stack([children[..., 0].min(0), children[..., 1].max(0)], -1)
    return tree, index, bounds
