"""gpusim simulates CUTLASS tile kernels inside an NVIDIA SM; this file knows the version and nothing else."""

__version__ = "0.1.0"
