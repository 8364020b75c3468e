"""
What is asked of a scenario as a whole: load it, simulate it, verify it, draw its run.

Its face is one function for each question, from a scenario to its result. It never names a
family: what differs between kernels, the registry's family answers.
"""
