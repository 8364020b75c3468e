"""
What is asked of a scenario as a whole: simulate it, verify it, compare it, explain it.

Its face is one function for each question, ``simulate``, ``verify``, ``compare`` and ``explain``. It never names a
family: what differs between kernels, the registry's family answers.
"""
