"""Triton functions of twelve kinds, whose machine code is kept; tests without Triton execute that."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """Adds two vectors."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    """Computes the softmax of each row, one program a row."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, at < columns, other=float("-inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, 0), at < columns)


@triton.jit
def layernorm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    """Normalises each row to mean 0 and variance 1, in blocks of columns, then scales and shifts it."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, at < columns, other=0.0)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        apart = tl.where(at < columns, tl.load(x + row * columns + at, at < columns, other=0.0) - mean, 0.0)
        squares += apart * apart
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        inside = at < columns
        normal = (tl.load(x + row * columns + at, inside, other=0.0) - mean) * scale
        tl.store(out + row * columns + at, normal * tl.load(weight + at, inside) + tl.load(bias + at, inside), inside)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    """Drops each element with probability p, by Triton's Philox generator, and scales the others."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, tl.load(x + at, at < n) / (1 - p), 0.0), at < n)


@triton.jit
def matmul(
    a, b, c, m, n, k, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiplies f16 matrices [m, k] and [k, n] of ragged extents, tiles in groups of rows."""
    program = tl.program_id(0)
    across = tl.cdiv(n, BLOCK_N)
    down = tl.cdiv(m, BLOCK_M)
    group = program // (GROUP * across)
    height = min(down - group * GROUP, GROUP)
    tile_m = group * GROUP + program % (GROUP * across) % height
    tile_n = program % (GROUP * across) // height
    rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % m
    columns = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % n
    depth = tl.arange(0, BLOCK_K)
    from_a = a + rows[:, None] * stride_am + depth[None, :]
    from_b = b + depth[:, None] * stride_bk + columns[None, :]
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for begin in range(0, k, BLOCK_K):
        left = tl.load(from_a, depth[None, :] < k - begin, other=0.0)
        right = tl.load(from_b, depth[:, None] < k - begin, other=0.0)
        sums = tl.dot(left, right, sums)
        from_a += BLOCK_K
        from_b += BLOCK_K * stride_bk
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    to_c = c + rows[:, None] * stride_cm + columns[None, :]
    tl.store(to_c, sums.to(tl.float16), (rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def attention(q, k, v, out, length, scale, DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Computes causal attention of one head a program y, with the softmax computed along the way."""
    head = tl.program_id(1) * length * DIM
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    along = tl.arange(0, DIM)
    queries = tl.load(q + head + rows[:, None] * DIM + along[None, :])
    most = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    sums = tl.zeros((BLOCK_M, DIM), tl.float32)
    for begin in range(0, (tl.program_id(0) + 1) * BLOCK_M, BLOCK_N):
        keys = begin + tl.arange(0, BLOCK_N)
        scores = tl.dot(queries, tl.load(k + head + keys[None, :] * DIM + along[:, None])) * scale
        scores = tl.where(rows[:, None] >= keys[None, :], scores, float("-inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        powers = tl.exp2(scores - higher[:, None])
        factor = tl.exp2(most - higher)
        total = total * factor + tl.sum(powers, 1)
        values = tl.load(v + head + keys[:, None] * DIM + along[None, :])
        sums = tl.dot(powers.to(tl.float16), values, sums * factor[:, None])
        most = higher
    tl.store(out + head + rows[:, None] * DIM + along[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def grouped(
    a, b, c, sizes, groups, n, k, PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Multiplies groups of rows of a, each of its own number of rows, by its own matrix b; programs take turns."""
    tile = tl.program_id(0)
    first_row, tiles_before = 0, 0
    for group in range(groups):
        height = tl.load(sizes + group)
        across = tl.cdiv(n, BLOCK_N)
        tiles = tl.cdiv(height, BLOCK_M) * across
        while tile >= tiles_before and tile < tiles_before + tiles:
            inner = tile - tiles_before
            rows = inner // across * BLOCK_M + tl.arange(0, BLOCK_M)
            columns = inner % across * BLOCK_N + tl.arange(0, BLOCK_N)
            depth = tl.arange(0, BLOCK_K)
            from_a = a + (first_row + rows)[:, None] * k + depth[None, :]
            from_b = b + group * k * n + depth[:, None] * n + columns[None, :]
            sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
            for _ in range(0, k, BLOCK_K):
                left = tl.load(from_a, rows[:, None] < height, other=0.0)
                sums = tl.dot(left, tl.load(from_b), sums)
                from_a += BLOCK_K
                from_b += BLOCK_K * n
            to_c = c + (first_row + rows)[:, None] * n + columns[None, :]
            tl.store(to_c, sums.to(tl.float16), rows[:, None] < height)
            tile += PROGRAMS
        tiles_before += tiles
        first_row += height


@triton.jit
def dequantise(
    a, weights, scales, c, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Multiplies f16 rows by weights of 4 bits, eight to a word along k, each group of k with a scale and zero 8."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for begin in range(0, k, BLOCK_K):
        left = tl.load(a + rows[:, None] * k + begin + depth[None, :])
        words = tl.load(weights + (begin + depth)[:, None] // 8 * n + columns[None, :])
        digits = words >> (depth % 8 * 4)[:, None] & 15
        scale = tl.load(scales + begin // GROUP * n + columns)
        right = (digits - 8).to(tl.float16) * scale[None, :]
        sums = tl.dot(left, right, sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16))


@triton.jit
def product64(a, b, c, SIZE: tl.constexpr):
    """Multiplies square matrices of f64."""
    down, across = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    product = tl.dot(tl.load(a + down * SIZE + across), tl.load(b + down * SIZE + across), out_dtype=tl.float64)
    tl.store(c + down * SIZE + across, product)


@triton.jit
def narrow(x, out, BLOCK: tl.constexpr):
    """Rounds f32 to f8 with two bits behind the point, and back."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at).to(tl.float8e5).to(tl.float32))


@triton.jit
def narrow8(x, out, BLOCK: tl.constexpr):
    """Rounds f32 to f8 with three bits behind the point, and back."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at).to(tl.float8e4nv).to(tl.float32))


@triton.jit
def product8(a, b, c, SIZE: tl.constexpr):
    """Multiplies square matrices of f8, a with three bits behind the point and b with two."""
    down, across = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    product = tl.dot(tl.load(a + down * SIZE + across), tl.load(b + down * SIZE + across))
    tl.store(c + down * SIZE + across, product)
