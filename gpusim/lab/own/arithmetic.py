"""Own kernels of arithmetic: bodies, options, random numbers, transforms, bits, and integers of 32 and 64 bits."""

import numpy as np

from gpusim.lab.own.contents import any_bits, integers, output, uniform
from gpusim.lab.own.kernel import (
    Argument,
    ArrayArgument,
    Contents,
    Given,
    OwnLaunch,
    ScalarArgument,
    Stored,
    named_alike,
)

_BLOCK = (256, 1, 1)

_LOW = 0xFFFFFFFF

_TABLE = np.array([0.5, -1.25, 2, 0.75, -3.5, 1, 4.25, -0.5, 1.5, 2.75, -2.25, 0.25, 3, -1.75, 0.125, 5])
"""The table of constant_table.cu."""


def _each(n: int, **arguments: Argument) -> OwnLaunch:
    """Return a launch of a thread for each of ``n`` elements, whose last argument is their number."""
    return OwnLaunch((-(-n // 256), 1, 1), _BLOCK, {**arguments, "n": ScalarArgument("int32", n)})


def _mapped(n: int, dtype: str, contents: Contents, out: str | None = None) -> OwnLaunch:
    return _each(n, **{"in": ArrayArgument(dtype, (n,), contents), "out": output(out or dtype, n)})


def _bodies(n: int) -> OwnLaunch:
    return OwnLaunch(
        (n // 64, 1, 1),
        (64, 1, 1),
        {
            "bodies": ArrayArgument("float32", (n, 4), uniform(0, 1)),
            "accelerations": output("float32", n, 4),
            "n": ScalarArgument("int32", n),
        },
    )


def _attracted(given: Given) -> dict[str, Stored]:
    bodies = given["bodies"].astype(np.float64)
    out = np.zeros_like(bodies)
    for first in range(0, len(bodies), 256):
        apart = bodies[None, :, :3] - bodies[first : first + 256, None, :3]
        weight = bodies[None, :, 3] * ((apart**2).sum(axis=2) + 0.01) ** -1.5
        out[first : first + 256, :3] = (weight[..., None] * apart).sum(axis=1)
    return {"accelerations": out}


def _options(n: int) -> OwnLaunch:
    return _each(
        n,
        prices=ArrayArgument("float32", (n,), uniform(5, 30)),
        strikes=ArrayArgument("float32", (n,), uniform(1, 100)),
        years=ArrayArgument("float32", (n,), uniform(0.25, 10)),
        calls=output("float32", n),
        puts=output("float32", n),
        rate=ScalarArgument("float32", 0.02),
        volatility=ScalarArgument("float32", 0.3),
    )


def _normal(d: Stored) -> Stored:
    """Return the normal distribution as black_scholes.cu approximates it."""
    k = 1 / (1 + 0.2316419 * np.abs(d))
    series = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228 * np.exp(-0.5 * d * d) * series
    return np.where(d > 0, 1 - tail, tail)


def _priced(given: Given) -> dict[str, Stored]:
    price, strike, years = (given[name].astype(np.float64) for name in ("prices", "strikes", "years"))
    rate, volatility = float(given["rate"]), float(given["volatility"])
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    return {
        "calls": price * _normal(d1) - discounted * _normal(d2),
        "puts": discounted * _normal(-d2) - price * _normal(-d1),
    }


def _dropout(vectors: int) -> OwnLaunch:
    return OwnLaunch(
        (-(-vectors // 256), 1, 1),
        _BLOCK,
        {
            "in": ArrayArgument("float32", (4 * vectors,), uniform()),
            "out": output("float32", 4 * vectors),
            "seed": ScalarArgument("uint32", 1234567),
            "kept_below": ScalarArgument("uint32", 3 << 30),
            "scale": ScalarArgument("float32", 4 / 3),
            "vectors": ScalarArgument("int32", vectors),
        },
    )


def _philox(counters: Stored, seed: int) -> Stored:
    """Return four random words for each counter, shape [counters, 4]. Source: Salmon et al., SC 2011, Philox4x32-10."""
    low = np.uint64(0xFFFFFFFF)
    first = counters.astype(np.uint64)
    words = [first, np.zeros_like(first), np.zeros_like(first), np.zeros_like(first)]
    keys = [seed, 0]
    for _ in range(10):
        of_first, of_third = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            of_third >> np.uint64(32) ^ words[1] ^ np.uint64(keys[0]),
            of_third & low,
            of_first >> np.uint64(32) ^ words[3] ^ np.uint64(keys[1]),
            of_first & low,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(words, axis=1)


def _dropped(given: Given) -> dict[str, Stored]:
    words = _philox(np.arange(given["vectors"]), int(given["seed"])).reshape(-1)
    return {"out": np.where(words < given["kept_below"], given["in"] * given["scale"], np.float32(0))}


def _signals(count: int) -> OwnLaunch:
    return OwnLaunch(
        (count, 1, 1),
        (128, 1, 1),
        {"in": ArrayArgument("float32", (count, 256, 2), uniform()), "out": output("float32", count, 256, 2)},
    )


def _transformed(given: Given) -> dict[str, Stored]:
    spectrum = np.fft.fft(given["in"].astype(np.float64) @ np.array([1, 1j]), axis=1)
    return {"out": np.stack([spectrum.real, spectrum.imag], axis=-1)}


def _points(n: int) -> OwnLaunch:
    return _each(
        n,
        points=ArrayArgument("float32", (8, n), uniform()),
        centres=ArrayArgument("float32", (16, 8), uniform()),
        out=output("int32", n),
    )


def _nearest(given: Given) -> dict[str, Stored]:
    distances = np.zeros((16, given["n"]), np.float32)
    for d in range(8):  # in the kernel's order, so that the sums round alike
        difference = given["points"][d] - given["centres"][:, d, None]
        distances += difference * difference
    return {"out": distances.argmin(axis=0)}


def _vectors(n: int) -> OwnLaunch:
    return _each(n, **{"in": ArrayArgument("float32", (n, 2), uniform(-3, 3)), "out": output("float32", n, 2)})


def _turned(given: Given) -> dict[str, Stored]:
    x, y = given["in"].astype(np.float64).T
    length = np.hypot(x, y)
    angle = np.arctan2(y, x) / (1 + length)
    return {"out": np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1)}


def _samples(n: int) -> OwnLaunch:
    return _each(
        n,
        a=ArrayArgument("int16", (2 * n,), integers(-(1 << 15), 1 << 15)),
        b=ArrayArgument("uint16", (2 * n,), integers(0, 1 << 16)),
        out=output("int32", n),
    )


def _widened(given: Given) -> dict[str, Stored]:
    a, b = given["a"].astype(np.int32), given["b"].astype(np.int32)
    return {"out": a[1::2] * 3 + b[1::2] - a[::2]}


def _capitals(given: Given) -> dict[str, Stored]:
    letters = given["in"]
    return {"out": np.where((letters >= ord("a")) & (letters <= ord("z")), letters - 32, letters)}


def _codes(n: int) -> OwnLaunch:
    return _each(
        n,
        codes=ArrayArgument("uint32", (n, 4), any_bits),
        query=ArrayArgument("uint32", (4,), any_bits),
        out=output("int32", n),
    )


def _distances(given: Given) -> dict[str, Stored]:
    return {"out": np.bitwise_count(given["codes"] ^ given["query"]).sum(axis=1)}


def _spread(x: Stored) -> Stored:
    """Return 16-bit numbers with a zero behind each bit."""
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        x = (x | x << shift) & mask
    return x


def _tricks(given: Given) -> dict[str, Stored]:
    x = given["in"].astype(np.int64)
    turned = np.zeros_like(x)
    for bit in range(32):
        turned |= (x >> bit & 1) << (31 - bit)
    leading = 32 - np.frexp(x.astype(np.float64))[1]  # the exponent of 0 is 0, as is the number of its lowest bit
    lowest = np.frexp((x & -x).astype(np.float64))[1]
    value = (turned ^ leading << 8) + lowest & _LOW
    value = (value << (x & 31) | value >> (32 - (x & 31))) & _LOW
    # Selector 0x5017, from the low byte up: byte 3 of value, bytes 1 and 0 of x, byte 1 of value.
    value ^= value >> 24 | (x >> 8 & 255) << 8 | (x & 255) << 16 | (value >> 8 & 255) << 24
    value += _spread(x & 0xFFFF) | _spread(x >> 16) << 1
    return {"out": (value & _LOW).astype(np.uint32)}


def _mixed(given: Given) -> dict[str, Stored]:
    x = given["in"].copy()
    u64 = np.uint64
    for _ in range(4):
        x ^= x >> u64(30)
        x *= u64(0xBF58476D1CE4E5B9)
        x ^= x >> u64(27)
        x = (x << u64(23) | x >> u64(41)) + _high_product(x, 0x94D049BB133111EB)
    return {"out": x}


def _high_product(x: Stored, factor: int) -> Stored:
    """Return the upper 64 bits of the product of 64-bit integers with a factor."""
    u64, low = np.uint64, np.uint64(0xFFFFFFFF)
    high, lower = u64(factor >> 32), u64(factor & 0xFFFFFFFF)
    x_high, x_low = x >> u64(32), x & low
    middle = x_high * lower + (x_low * lower >> u64(32))
    crossed = x_low * high + (middle & low)
    upper: Stored = x_high * high + (middle >> u64(32)) + (crossed >> u64(32))
    return upper


def _fractions(n: int) -> OwnLaunch:
    return _each(
        n,
        a=ArrayArgument("int32", (n,), integers(-(1 << 31), 1 << 31)),
        b=ArrayArgument("int32", (n,), integers(1, 1 << 20)),
        quotients=output("int32", n),
        remainders=output("int32", n),
        others=output("uint32", n),
    )


def _divided(given: Given) -> dict[str, Stored]:
    a, b = given["a"].astype(np.int64), given["b"].astype(np.int64)
    x, y = a & 0xFFFFFFFF, b
    quotients = np.sign(a) * (np.abs(a) // b)  # C++ truncates
    others = x // y + x % y + x // 7 + x % 7
    return {"quotients": quotients, "remainders": a - quotients * b, "others": (others & 0xFFFFFFFF).astype(np.uint32)}


def _long_fractions(n: int) -> OwnLaunch:
    return _each(
        n,
        a=ArrayArgument("uint64", (n,), any_bits),
        b=ArrayArgument(
            "uint64", (n,), lambda generator, shape: any_bits(generator, shape) >> np.uint64(20) | np.uint64(1)
        ),
        out=output("uint64", n),
    )


def _long_divided(given: Given) -> dict[str, Stored]:
    a, b = given["a"], given["b"]
    return {"out": a // b ^ a % b << np.uint64(1)}


def _dots(n: int) -> OwnLaunch:
    return _each(
        n,
        rows=ArrayArgument("int8", (n, 64), integers(-128, 128)),
        query=ArrayArgument("int8", (64,), integers(-128, 128)),
        out=output("int32", n),
    )


def _byte_products(given: Given) -> dict[str, Stored]:
    return {"out": given["rows"].astype(np.int32) @ given["query"].astype(np.int32)}


def _coded(given: Given) -> dict[str, Stored]:
    code = given["in"].astype(np.int64)
    x = (code >> 16) / 65536
    first, second, third, fourth = (_TABLE[code >> shift & 15] for shift in (0, 4, 8, 12))
    return {"out": ((first * x + second) * x + third) * x + fourth}


def _fields(n: int) -> OwnLaunch:
    return _each(
        n,
        words=ArrayArgument("uint64", (n,), any_bits),
        widths=ArrayArgument("uint8", (n,), any_bits),
        out=output("int32", n),
    )


def _signed(values: Stored, width: Stored | int) -> Stored:
    """Return the low bits of 64-bit integers as signed numbers."""
    low: Stored = values & (1 << width) - 1
    return np.where(low >> (width - 1), low - (1 << width), low)


def _unpacked(given: Given) -> dict[str, Stored]:
    low = (given["words"] & np.uint64(_LOW)).astype(np.int64)
    widths = given["widths"].astype(np.int64)
    field = (given["words"] >> (widths >> 3).astype(np.uint64) & np.uint64(_LOW)).astype(np.int64)
    return {"out": _signed(field, 3 + (widths & 15)) * 4096 + _signed(low, 12) + _signed(low >> 20, 12)}


NUMBER_KERNELS = (
    named_alike("dot_bytes", "memory", small=_dots(1000), large=_dots(1 << 20), oracle=_byte_products),
    named_alike(
        "constant_table",
        "latency",
        small=_mapped(2000, "uint32", any_bits, "float32"),
        large=_mapped(1 << 22, "uint32", any_bits, "float32"),
        oracle=_coded,
        tolerance=1e-5,
    ),
    named_alike("signed_fields", "memory", small=_fields(3000), large=_fields(1 << 22), oracle=_unpacked),
    named_alike(
        "nbody",
        "compute",
        small=_bodies(128),
        large=_bodies(4096),
        oracle=_attracted,
        tolerance=1e-4,
    ),
    named_alike(
        "black_scholes",
        "memory",
        small=_options(1500),
        large=_options(1 << 21),
        oracle=_priced,
        tolerance=1e-4,
    ),
    named_alike("dropout", "memory", small=_dropout(1000), large=_dropout(1 << 21), oracle=_dropped),
    named_alike("fft", "compute", small=_signals(2), large=_signals(8192), oracle=_transformed, tolerance=1e-5),
    named_alike(
        "nearest_centre",
        "compute",
        small=_points(400),
        large=_points(1 << 20),
        oracle=_nearest,
    ),
    named_alike(
        "polar",
        "compute",
        small=_vectors(1000),
        large=_vectors(1 << 22),
        oracle=_turned,
        tolerance=1e-5,
    ),
    named_alike(
        "widen_shorts",
        "memory",
        small=_samples(4000),
        large=_samples(1 << 23),
        oracle=_widened,
    ),
    named_alike(
        "upper_case",
        "memory",
        small=_mapped(5000, "uint8", integers(32, 127)),
        large=_mapped(1 << 24, "uint8", integers(32, 127)),
        oracle=_capitals,
    ),
    named_alike("hamming", "memory", small=_codes(3000), large=_codes(1 << 22), oracle=_distances),
    named_alike(
        "bit_tricks",
        "compute",
        small=_mapped(3000, "uint32", any_bits),
        large=_mapped(1 << 22, "uint32", any_bits),
        oracle=_tricks,
    ),
    named_alike(
        "hash64",
        "compute",
        small=_mapped(2000, "uint64", any_bits),
        large=_mapped(1 << 21, "uint64", any_bits),
        oracle=_mixed,
    ),
    named_alike("divide", "compute", small=_fractions(2000), large=_fractions(1 << 21), oracle=_divided),
    named_alike(
        "divide64",
        "compute",
        small=_long_fractions(1000),
        large=_long_fractions(1 << 20),
        oracle=_long_divided,
    ),
)
"""Kernels of arithmetic."""
