"""Declares what ``gpusim doctor`` takes."""

from dataclasses import dataclass

from gpusim.commands.options.fields import JsonOption


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """Print what this machine can do, and what it lacks."""

    as_json: JsonOption = False
