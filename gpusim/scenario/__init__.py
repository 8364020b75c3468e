"""
The question: scenario files, read and checked; every error names file, key and rule.

The interface is ``Scenario`` and its models, ``read.parse``, CUTLASS's kernel names, and the shipped scenarios. The
room never knows what a kernel does with its shapes, nor which kinds of problem exist: kinds are passed to it.
"""
