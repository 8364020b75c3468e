"""Compares the cycles of own kernels with those that an H200 took."""
