"""Declares what ``gpusim name`` takes."""

from dataclasses import dataclass

from gpusim.commands.options.fields import CutlassOption, FileArgument, JsonOption, SetOption


@dataclass(frozen=True, slots=True, kw_only=True)
class NameOptions:
    """Print the name that CUTLASS's profiler gives a scenario's kernel."""

    file: FileArgument = None
    cutlass: CutlassOption = None
    overrides: SetOption = ()
    as_json: JsonOption = False
