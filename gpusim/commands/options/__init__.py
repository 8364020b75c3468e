"""
What each command takes: a frozen class of options for each, from which the command line is made.

Its face is one module for each command. A field states an option once: name, type, default, bounds and help. The
docstring of a class is the help of its command. It never imports a room that is slow to import: ``--help`` and a
refused option wait for none.
"""
