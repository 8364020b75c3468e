"""
The performance of a kernel of the user's own beside a baseline that was kept.

The interface is ``read_baseline`` and ``baseline_text``, which know the file; ``compared``, which compares an answer
with an entry; and ``perf_markdown``, the table. The room never compiles, executes or simulates a kernel.
"""
