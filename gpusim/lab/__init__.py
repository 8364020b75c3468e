"""
The laboratory: what derives the machines' figures, judges the simulator, and measures how fast it is.

The interface is its commands, ``python -m gpusim.lab.bench`` for example, and ``calibrate`` and ``validate``, which the
commands of these names import when they run. Nothing else of gpusim imports it, and a simulation never needs it.
"""
