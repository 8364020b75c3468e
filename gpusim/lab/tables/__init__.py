"""
The tables over committed records: errors of the simulation, speed beside CUTLASS, attention beside others.

The interface is one command for each table, ``python -m gpusim.lab.tables.speed_table`` for example, as
``make reports`` runs them. The room reads records and simulates, and never measures.
"""
