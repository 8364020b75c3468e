"""``gpusim version``, ``keys``, ``schema`` and ``scenarios``: print what gpusim knows about itself."""

import platform
from dataclasses import asdict

from gpusim import __version__
from gpusim.commands.options.about import KeysOptions, ScenariosOptions, SchemaOptions, VersionOptions
from gpusim.commands.output import print_json, print_text
from gpusim.families.registry import scenario_schema
from gpusim.results import provenance
from gpusim.scenario.catalogue import shipped_scenarios
from gpusim.verbs.keys_report import keys_report


def print_version(options: VersionOptions) -> None:
    """Print gpusim's version, the commit of its source tree if there is one, and the version of Python."""
    commit, python = provenance.commit(), platform.python_version()
    if options.as_json:
        print_json({"version": __version__, "commit": commit, "python": python})
    else:
        print_text(f"gpusim {__version__}" + (f" ({commit})" if commit else "") + f", Python {python}")


def print_keys(options: KeysOptions) -> None:
    """
    Print keys of scenarios and of machine files: all, or those that were asked for, as of ``keys_report``.

    Raises:
        BadInput: There is no such kind, key or table.
    """
    report = keys_report(options.what)
    if options.as_json:
        print_json(report.to_dict())
    else:
        print_text(report.text())


def print_schema(_: SchemaOptions) -> None:
    """Print the JSON Schema of a scenario file."""
    print_json(scenario_schema())


def print_scenarios(options: ScenariosOptions) -> None:
    """Print name and question of each shipped scenario; as JSON also its file."""
    shipped = shipped_scenarios()
    if options.as_json:
        print_json([{**asdict(scenario), "path": str(scenario.path)} for scenario in shipped])
        return
    width = max((len(scenario.name) for scenario in shipped), default=0)
    for scenario in shipped:
        print_text(f"{scenario.name:{width}}  {scenario.question}")
