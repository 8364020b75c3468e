"""
The commands of the command line: each calls functions of the rooms, and prints the answer to stdout.

The interface is one module for each command, which ``gpusim.cli`` imports when the command runs. A command's options
are in the module of the same name in the inner room of options. The room never computes what another room can answer,
and no room imports it.
"""
