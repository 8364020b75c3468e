"""
What is asked of a scenario as a whole: load it, simulate it, verify it, compare it, explain it, draw its run.

Its face is one function for each question, from a scenario to its answer. It never names a
family: what differs between kernels, the registry's family answers.
"""
