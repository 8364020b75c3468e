"""
The core: simulates the machine cycle by cycle, on integers alone. Each unit of the machine is a module.

The units are interpreted as Python, or compiled together by Cython as one module. ``engine`` chooses between the two,
``chip`` builds the machine from its units, and ``source`` lists the units. The core never knows a kernel: its input is
columns of integers, and its output is logs.
"""
