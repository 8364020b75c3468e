"""
The options of each command: one frozen class for each, from which the command line is made.

The interface is one module for each command. A field states an option once: name, type, default, bounds and help. The
docstring of a class is the help of its command. The room never imports a room that is slow to import: ``--help`` and a
refused option wait for none.
"""
