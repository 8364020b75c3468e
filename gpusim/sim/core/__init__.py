"""
The core: simulates the machine cycle by cycle, on integers alone. Each unit of the machine is a module.

The units are interpreted as Python, or compiled together by Cython as one module. ``engine`` chooses between the two,
``chip`` builds the machine from its units, and ``source`` says what is compiled. The core never knows a kernel: columns
of integers come in, and logs go out.
"""
