"""
In which order a CTA of attention does what: its ops, the programs of both kernels, their hazards, and broken ones.

Its faces are ``chained`` and ``flash``, a program each. It never knows an address, a GPU or a time.
"""
