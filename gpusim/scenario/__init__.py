"""
The question: what a scenario file may say, read and checked, every error naming file, key and rule.

Its face is ``Scenario`` and its models, ``read.parse``, CUTLASS's kernel names, and the shipped scenarios. It never
knows what a kernel does with its shapes, nor which kinds of problem there are: kinds are handed to it.
"""
