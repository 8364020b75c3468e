"""
In which order a CTA of attention does what: ops, both kernels' programs, their races, programs broken on purpose.

No module here knows an address, a GPU or a time.
"""
