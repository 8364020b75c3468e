"""
Shows a result to a person: tables, charts and trace files. Only the modules that draw import matplotlib.

The interface is one function for each picture (``overlap_chart``, ``roofline``, ``stall_chart``), each trace
(``write_perfetto``, ``write_kanata``) and the summary in a terminal. The room never simulates and never calls a family:
it shows its arguments only.
"""
