"""
Checks the memory accesses of a launch: races between warps in shared memory, and reads of bytes that no thread wrote.

Races follow from barriers and from waits for copies, never from the order in which gpusim executes warps. A check reads
the trace of a launch. It changes nothing.
"""
