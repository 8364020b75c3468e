"""
Own kernels: CUDA kernels of many kinds, written for gpusim, with launches and answers by numpy, to judge it by.

Its face is ``OWN_KERNELS`` (the table), ``half_of`` (development or held-out), ``make_arguments`` (the inputs of a
launch), ``compare`` (its outputs against the oracle), and the command ``record``, which measures all of them on a GPU.
The sources lie in tests/own/kernels, in the source tree only. It never simulates.
"""
