"""
The parts of a sweep: axes, points, their rows, the journal from which a killed sweep continues, and the table.

Its face is ``simulated`` and ``Journal``, which the verb sweep joins. It never draws, and it knows no family: any
key of a scenario can be an axis.
"""
