"""
Counts of own kernels beside those that ncu measured on an H200.

``metrics`` says which instructions each metric of ncu counts, ``compared`` executes and compares, ``page`` writes
``reports/own_counts.md``; ``python -m gpusim.lab.own.counts`` does all. It never simulates time.
"""
