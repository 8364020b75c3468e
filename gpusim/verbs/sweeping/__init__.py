"""
How a sweep is done: axes to points, points to rows, rows to a journal that a killed sweep resumes from, and a table.

Its face is ``simulated`` and ``Journal``, which the verb that sweeps puts together. It never draws, and it knows no
family: any key of a scenario can be an axis.
"""
