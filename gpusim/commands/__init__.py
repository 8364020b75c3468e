"""
What each command of the command line does: one call after another into the rooms, and the answer on stdout.

Its face is one module for each command, which ``gpusim.cli`` imports when that command runs. What a command takes
stands in the module of the same name in the inner room of options. It never computes what a room could be asked, and no
room imports it.
"""
