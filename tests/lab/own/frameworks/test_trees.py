"""Left-balanced k-d trees by their definition: small ones by hand, and a random one in its order."""

import numpy as np

from gpusim.lab.own.frameworks.trees import node_of_each, split_of_each, tree_of


def test_six_points_have_three_nodes_left_of_the_root_and_two_right():
    """Six nodes fill levels of 1 and 2, and three of the last four: 3 and 4 below node 1, 5 below node 2."""
    assert node_of_each(6, 0).tolist() == [0, 0, 0, 0, 0, 0]
    assert split_of_each(6, 0).tolist() == [1, 1, 1, 0, 2, 2]


def test_points_of_upper_levels_are_nodes_themselves():
    """Behind the root lie node 1's subtree (1, 3, 4) and node 2's (2, 5), whose only child is its left one."""
    assert node_of_each(6, 1).tolist() == [0, 1, 1, 1, 2, 2]
    assert split_of_each(6, 1).tolist() == [0, 3, 1, 4, 5, 2]


def test_a_node_lies_between_its_left_and_its_right_subtree_and_bounds_have_its_leaves():
    points = np.random.default_rng(1).uniform(size=(100, 3))

    tree, index, bounds = tree_of(points)

    assert (points[index] == tree).all()
    for node in range(100):
        axis = ((node + 1).bit_length() - 1) % 3
        left, right = (subtree(child) for child in (2 * node + 1, 2 * node + 2))
        assert (tree[left, axis] <= tree[node, axis]).all()
        assert (tree[right, axis] >= tree[node, axis]).all()
        leaves = [one for one in subtree(node) if 2 * one + 1 >= 100]
        assert (bounds[node] == np.stack([tree[leaves].min(0), tree[leaves].max(0)], -1)).all()


def subtree(node, n=100):
    """The nodes of a subtree."""
    return [node, *subtree(2 * node + 1), *subtree(2 * node + 2)] if node < n else []
