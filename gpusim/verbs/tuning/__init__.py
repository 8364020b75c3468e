"""
How the best kernel for a problem is found: candidates, bounds, a search where they are too many, and reasons.

Its face is ``candidates_of``, ``searched`` and ``why_faster``, which the verb that tunes puts together. It asks the
family what could be compiled, and never measures.
"""
