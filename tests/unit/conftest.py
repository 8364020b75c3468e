"""What tests of any room stand on where the machine has no GPU."""

from doubles.gpu import gpu, no_cupy

__all__ = ["gpu", "no_cupy"]
