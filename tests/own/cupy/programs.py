"""
Programs of CuPy's kernels on small data, and what numpy says of each; knows no executor.

A program takes ``launch(source, symbol, grid, block, *arguments)``. It yields what kernels wrote, what is right, and
the largest accepted error. The launches are those of cupyx.scipy; the oracles are definitions, written without it.
"""

import numpy as np

THREADS = 128


def blocks(n):
    return -(-n // THREADS)


def drawn(*shape, seed=0):
    return np.random.default_rng((20261128, seed)).normal(size=shape)


def phases_of(filter_, up):
    """The coefficients as upfirdn stores them: one row for each phase, from the last to the first."""
    padded = np.pad(filter_, (0, -len(filter_) % up))
    return np.ascontiguousarray(padded.reshape(-1, up).T[:, ::-1]).ravel()


def resampled(x, filter_, up, down):
    spread = np.zeros((len(x) - 1) * up + 1, x.dtype)
    spread[::up] = x
    return np.convolve(spread, filter_)[::down]


def upfirdn(launch):
    """A filter between up- and downsampling."""
    x, taps, up, down = drawn(300).astype(np.float32), drawn(24, seed=1).astype(np.float32), 3, 2
    stored, right = phases_of(taps, up), resampled(x, taps, up, down)
    phase = len(stored) // up
    out = np.zeros(len(right), np.float32)
    padded = len(x) + phase - 1
    arguments = (x, 1, stored, up, down, 0, len(x), phase, padded, out, len(out))
    launch("upfirdn", "_cupy_upfirdn1D_float32", 4, THREADS, *arguments)
    yield out, right, 1e-5


def upfirdn_complex_rows(launch):
    """The same for each row of a complex matrix."""
    x, taps, up, down = drawn(20, 31) + 1j * drawn(20, 31, seed=1), drawn(7, seed=2).astype(complex), 2, 3
    stored, right = phases_of(taps, up), np.array([resampled(row, taps, up, down) for row in x])
    phase = len(stored) // up
    out = np.zeros(right.shape, complex)
    arguments = (x, 1, 31, stored, up, down, 1, 31, phase, 31 + phase - 1, out, *out.shape)
    launch("upfirdn", "_cupy_upfirdn2D_complex128", (3, 2), (8, 8), *arguments)
    yield out, right, 1e-13


def lombscargle(launch):
    """The periodogram of samples at any times."""
    times, at = np.sort(np.random.default_rng(5).uniform(0, 20, 200)), np.linspace(0.5, 6, 90)
    y = np.sin(3 * times) + drawn(200) / 10
    out = np.zeros(90)
    launch("lombscargle", "_cupy_lombscargle_float64", 1, THREADS, 200, 90, times, y, at, out, np.zeros(1))
    right = np.empty(90)
    for number, w in enumerate(at):
        tau = np.arctan2(np.sin(2 * w * times).sum(), np.cos(2 * w * times).sum()) / (2 * w)
        c, s = np.cos(w * (times - tau)), np.sin(w * (times - tau))
        right[number] = ((y @ c) ** 2 / (c @ c) + (y @ s) ** 2 / (s @ s)) / 2
    yield out, right, 1e-10


def max_len_seq(launch):
    """A sequence of a linear feedback shift register of 7 bits."""
    bits, taps = 7, np.array([6], np.int64)
    state, out = np.ones(bits, np.int8), np.zeros(127, np.int8)
    launch("max_len_seq", "max_len_seq", 1, bits, 127, len(taps), bits, taps, state, out)
    register, right = [1] * bits, []
    for number in range(127):
        right.append(register[number % bits])
        register[number % bits] ^= register[(taps[0] + number) % bits]
    yield out, np.array(right), 0


def recursive(x, factors):
    """y[n] = x[n] + the sum of factors[k] y[n - 1 - k]."""
    y = np.array(x)
    for n in range(x.shape[-1]):
        for k, factor in enumerate(factors[:n]):
            y[..., n] += factor * y[..., n - 1 - k]
    return y


def iir(launch, n=512):
    """A recursive filter of two rows in blocks of 128, whose carries are corrected along each row."""
    x, factors, block, rows = drawn(2, n), np.array([0.6, -0.3, 0.1]), THREADS, 2
    k, groups = len(factors), -(-n // block)
    correction = np.hstack([np.eye(k)[::-1], np.zeros((k, block))])
    out, carries = x.copy(), np.zeros((rows, groups, k))
    launch("iir", "compute_correction_factors", k, 1, block, k, factors, correction)
    sizes = (block, k, n, groups, groups * k)
    launch("iir", "first_pass_iir", rows * groups, block // 2, *sizes, correction, out, carries)
    launch("iir", "correct_carries", rows, k, block, k, groups, groups * k, 1, correction, carries)
    sizes = (block, k, n, groups * k, groups - 1, 1)
    launch("iir", "second_pass_iir", rows * (groups - 1), block, *sizes, correction, carries, out)
    yield out, recursive(x, factors), 1e-12


def sosfilt(launch):
    """Two sections of second order, one after the other."""
    x, block, rows, n = drawn(2, 512), THREADS, 2, 512
    sections = np.array([[0.2, 0.4, 0.2, 1, -0.9, 0.3], [1, 2, 1, 1, -1.1, 0.6]])
    groups = n // block
    stride, first = groups * 2, 1
    factors, out, carries = np.zeros((2, 2, block)), x.copy(), np.zeros((rows, groups, 2))
    launch("sosfilt", "compute_correction_factors_sos", 2, 2, block, sections, factors)

    def pick():
        launch("sosfilt", "pick_carries", rows * groups, 2, block, n, stride, groups, first, out, carries)

    pick()
    for section, factor in zip(sections, factors, strict=True):
        given = (block, n, stride, groups, first, section.copy(), carries, out)
        launch("sosfilt", "fir_sos", rows * groups, block, *given)
        given = (block, n, groups, factor.copy(), out, carries)
        launch("sosfilt", "first_pass_iir_sos", rows * groups, block // 2, *given)
        given = (block, groups, stride, first, factor.copy(), carries)
        launch("sosfilt", "correct_carries_sos", rows, 2, *given)
        given = (block, n, stride, groups - 1, first, factor.copy(), carries, out)
        launch("sosfilt", "second_pass_iir_sos", rows * (groups - 1), block, *given)
        pick()
    right = x
    for section in sections:
        moved = np.array([np.convolve(row, section[:3])[:n] for row in right])
        right = recursive(moved, -section[4:])
    yield out, right, 1e-11


def peaks(launch):
    """Local maxima of a random walk, and how far each stands out."""
    x = np.cumsum(drawn(500))
    middle, left, right = (np.zeros(498, np.int64) for _ in range(3))
    launch("peaks", "local_maxima_1d", blocks(498), THREADS, 500, x, middle, left, right)
    found = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])) + 1
    yield middle[middle > 0], found, 0
    heights, lower, upper = np.zeros(len(found)), np.zeros(len(found), np.int64), np.zeros(len(found), np.int64)
    given = (500, len(found), x, found, -1, heights, lower, upper)
    launch("peaks", "peak_prominencesIdE", blocks(len(found)), THREADS, *given)
    bases = []
    for peak in found:
        higher = np.flatnonzero(x > x[peak])
        begin = max(higher[higher < peak], default=-1) + 1
        end = min(higher[higher > peak], default=500)
        bases.append(max(x[begin : peak + 1].min(), x[peak:end].min()))
    yield heights, x[found] - np.array(bases), 1e-15


def basis(knots, i, k, x):
    """The B-spline of degree k on the knots from i on, by Cox and de Boor."""
    if k == 0:
        return ((knots[i] <= x) & (x < knots[i + 1])).astype(float)
    value = np.zeros_like(x)
    if knots[i + k] > knots[i]:
        value += (x - knots[i]) / (knots[i + k] - knots[i]) * basis(knots, i, k - 1, x)
    if knots[i + k + 1] > knots[i + 1]:
        value += (knots[i + k + 1] - x) / (knots[i + k + 1] - knots[i + 1]) * basis(knots, i + 1, k - 1, x)
    return value


def bspline(launch):
    """Two cubic splines at 200 points: the interval of each point, then de Boor's recursion."""
    k, x = 3, np.random.default_rng(6).uniform(0, 10, 200)
    knots = np.concatenate([np.zeros(4), np.sort(np.random.default_rng(7).uniform(0, 10, 20)), np.full(4, 10.0)])
    n = len(knots) - k - 1
    coefficients, intervals, out = drawn(n, 2), np.zeros(200, np.int64), np.zeros((200, 2))
    launch("interval", "find_interval", blocks(200), THREADS, knots, x, intervals, k, n, np.False_, 200)
    yield intervals, np.searchsorted(knots, x, side="right") - 1, 0
    given = (knots, coefficients, k, 0, x, intervals, out, np.zeros(200 * (2 * k + 1)), 2, 1, 200)
    launch("bspline", "d_boor", blocks(200), THREADS, *given)
    yield out, sum(np.outer(basis(knots, i, k, x), coefficients[i]) for i in range(n)), 1e-12


def tree_of(launch, points):
    """A left-balanced k-d tree: points sorted level by level within the subtree that each is tagged with."""
    tree, index, tags = points.copy(), np.arange(len(points)), np.zeros(len(points), np.int64)
    levels = int(np.log2(len(points)))
    for level in range(levels + 1):
        order = np.lexsort((tree[:, level % points.shape[1]], tags))
        tree, index, tags = tree[order], index[order], tags[order]
        if level < levels:
            launch("kdtree", "update_tags", blocks(len(points)), THREADS, len(points), level, tags)
    bounds = np.zeros((*points.shape, 2))
    for level in reversed(range(levels + 1)):
        sizes = (*points.shape, level, 1 << level)
        launch("kdtree", "compute_boundsIdE", blocks(1 << level), THREADS, *sizes, tree, bounds)
    return tree, index, bounds


def kdtree(launch):
    """A k-d tree of 200 points: the four nearest of each query, and how many lie within a radius."""
    points, queries = np.random.default_rng(8).uniform(size=(200, 3)), np.random.default_rng(9).uniform(size=(50, 3))
    tree, index, bounds = tree_of(launch, points)
    squares = ((queries[:, None] - points) ** 2).sum(-1)
    yield bounds[0], np.stack([points.min(0), points.max(0)], -1), 0
    distances, nodes, box = np.full((50, 4), np.inf), np.full((50, 4), 200, np.int64), np.zeros(3)
    given = (4, 200, 50, 3, 0.0, 2.0, np.inf, queries, tree, index, box, bounds, distances, nodes)
    launch("kdtree_query", "3knnIdE", 1, THREADS, *given)
    yield nodes, np.argsort(squares, axis=1)[:, :4], 0
    yield distances, np.sort(squares, axis=1)[:, :4], 1e-14
    inside, counts = np.full((50, 200), 200, np.int64), np.zeros(50, np.int64)
    given = (200, 50, 3, 0.3, 0.0, 2.0, 1, queries, tree, index, box, bounds, inside, counts)
    launch("kdtree_query", "10query_ballIdE", 1, THREADS, *given)
    yield counts, (squares <= 0.3**2).sum(1), 0


PROGRAMS = (
    upfirdn,
    upfirdn_complex_rows,
    lombscargle,
    max_len_seq,
    iir,
    sosfilt,
    peaks,
    bspline,
    kdtree,
)
"""All programs."""
