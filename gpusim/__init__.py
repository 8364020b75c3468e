"""
Simulates CUTLASS tile kernels inside an NVIDIA SM. Programs begin with ``load`` and ``simulate``.

This file knows the version, and where each public name is defined. A name is imported when it is first used, so
``import gpusim`` takes no time. ``__init__.pyi`` says the same to type checkers and editors; a test compares both.
"""

# Nothing is imported here: an interrupt during an import would print a traceback.
__version__ = "0.2.0"

_HOMES = {
    "GpusimError": "gpusim.errors",
    "ReadyKernel": "gpusim.python.kernel",
    "KernelRun": "gpusim.python.kernel",
    "LayoutReport": "gpusim.layout.bank_map",
    "Result": "gpusim.results.result",
    "Run": "gpusim.python.run",
    "Scenario": "gpusim.scenario.models",
    "Sweep": "gpusim.verbs.sweep",
    "Tuning": "gpusim.verbs.tune",
    "VerifyReport": "gpusim.families.verification",
    "compare": "gpusim.python.compare",
    "describe_layout": "gpusim.layout.bank_map",
    "explain": "gpusim.python.explain",
    "find_conflict_free": "gpusim.layout.search",
    "kernel": "gpusim.python.kernel",
    "load": "gpusim.verbs.load",
    "load_machine": "gpusim.machine.load",
    "machine_names": "gpusim.machine.load",
    "read_run": "gpusim.python.run",
    "scenario_names": "gpusim.scenario.catalogue",
    "search_layout": "gpusim.layout.search_report",
    "shared_layout": "gpusim.layout.named",
    "simulate": "gpusim.python.simulate",
    "sweep": "gpusim.verbs.sweep",
    "triton": "gpusim.python.triton",
    "tune": "gpusim.verbs.tune",
    "verify": "gpusim.python.verify",
}
"""Public name -> the module that defines it. ``__init__.pyi`` needs the same lines."""


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415

    if name not in _HOMES:
        raise AttributeError(f"module 'gpusim' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
