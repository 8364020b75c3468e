"""
What a person sees of a result: tables, charts and trace files. Only the modules that draw import matplotlib.

Its face is one function for each picture (``overlap_chart``, ``roofline``, ``stall_chart``), each trace
(``write_perfetto``, ``write_kanata``) and the summary in a terminal. It never simulates or asks a family: all it shows
is in its arguments.
"""
