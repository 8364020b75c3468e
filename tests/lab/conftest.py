"""What tests of the laboratory stand on where the machine has no GPU."""

from doubles.gpu import gpu, no_cupy

__all__ = ["gpu", "no_cupy"]
