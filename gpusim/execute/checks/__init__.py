"""
Checks what a launch did with shared memory: warps that race, and reads of bytes that nobody wrote.

Barriers and waits for copies order the warps of a CTA; the order in which gpusim executed them never counts. A check
reads the trace of a launch and changes nothing.
"""
