"""What a person sees of a result: tables, charts and trace files. Only the modules that draw import matplotlib."""
