"""
Eyes that see less: pictures in greyscale, and as a reader without green cones has them (deuteranopia).

``python tests/doubles/eyes.py PICTURE.png...`` writes both versions beside each picture, to be looked at.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.image import imread, imsave

# Machado, Oliveira and Fernandes 2009, table 1: deuteranomaly of severity 1, on linear RGB.
_DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def linear(picture):
    """sRGB of 0 to 1, shape (..., 3), without its gamma."""
    return np.where(picture <= 0.04045, picture / 12.92, ((picture + 0.055) / 1.055) ** 2.4)


def _srgb(light):
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def greyscale(picture):
    """The same luminance without colour."""
    return np.repeat(_srgb(linear(picture) @ _LUMINANCE)[..., None], 3, axis=-1)


def deuteranopia(picture):
    """As seen without green cones."""
    return _srgb(linear(picture) @ _DEUTERANOPIA.T)


EYES = {"greyscale": greyscale, "deuteranopia": deuteranopia}


def contrast_of(one, other):
    """Contrast of the mean luminance of two pictures: 1 of equal ones, 21 of black and white."""
    dark, light = sorted(float((linear(picture) @ _LUMINANCE).mean()) for picture in (one, other))
    return (light + 0.05) / (dark + 0.05)


def structure(picture):
    """Mean change of luminance from pixel to pixel to the right, down and along both diagonals: what a hatch is."""
    light = linear(picture) @ _LUMINANCE
    moved = (light[:, 1:] - light[:, :-1], light[1:] - light[:-1], light[1:, 1:] - light[:-1, :-1])
    moved = (*moved, light[1:, :-1] - light[:-1, 1:])
    return np.array([np.abs(step).mean() for step in moved])


def main():
    for path in map(Path, sys.argv[1:]):
        picture = imread(path)[..., :3]
        for name, see in EYES.items():
            imsave(path.with_suffix(f".{name}.png"), see(picture))


if __name__ == "__main__":
    main()
