"""Declares what ``gpusim sass`` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options.fields import CutlassOption, FileArgument, JsonOption, SetOption


@dataclass(frozen=True, slots=True, kw_only=True)
class SassOptions:
    """Print the compiled kernel with its simulated issue cycles."""

    file: FileArgument = None
    cutlass: CutlassOption = None
    overrides: SetOption = ()
    segment: Annotated[str | None, typer.Option(help="Only the prologue, mainloop, tail or epilogue.")] = None
    as_json: JsonOption = False
