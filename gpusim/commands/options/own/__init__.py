"""
The options of commands that take kernels of the user's own alone: one frozen class for each.

The interface is one module for each command, as in the room above. The room never imports one that is slow to
import.
"""
