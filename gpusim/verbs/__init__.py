"""
What is asked of a scenario as a whole: simulate it, verify it.

Its face is one function for each question, ``simulate`` and ``verify``, from a scenario to its result. It never names a
family: what differs between kernels, the registry's family answers.
"""
