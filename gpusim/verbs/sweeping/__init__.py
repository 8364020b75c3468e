"""
The parts of a sweep: axes, points, their rows, the journal from which a killed sweep continues, and the table.

The interface is ``simulated`` and ``Journal``, which the verb sweep joins. The room never draws, and it knows no
family: any key of a scenario can be an axis.
"""
