"""Defines the command line: turns arguments into calls and errors into exit codes; imports nothing slow for --help."""

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from importlib import import_module
from inspect import Parameter, Signature
from types import GenericAlias
from typing import Annotated, Any, Final, get_args, get_origin

import typer
from typer.core import TyperGroup

from gpusim.commands.output import answering, complain, finish_stdout, open_missing_streams
from gpusim.errors import GpusimError

COMMANDS: Final = {
    "run": ("run", "RunOptions", "run_scenarios"),
    "verify": ("verify", "VerifyOptions", "verify_scenario"),
    "addresses": ("addresses", "AddressesOptions", "print_addresses"),
    "layout": ("layout", "LayoutOptions", "print_layout"),
    "plot": ("figures", "PlotOptions", "plot"),
    "trace": ("figures", "TraceOptions", "trace_run"),
    "report": ("figures", "ReportOptions", "write_report"),
    "check": ("check", "CheckOptions", "check_scenarios"),
    "validate": ("validate", "ValidateOptions", "validate_records"),
    "sweep": ("sweep", "SweepOptions", "sweep_scenario"),
    "tune": ("tune", "TuneOptions", "tune_scenario"),
    "sass": ("sass", "SassOptions", "print_sass"),
    "name": ("name", "NameOptions", "print_name"),
    "compare": ("compare", "CompareOptions", "compare_sides"),
    "check-perf": ("own.check_perf", "CheckPerfOptions", "check_perf"),
    "explain": ("explain", "ExplainOptions", "print_explanation"),
    "calibrate": ("calibrate", "CalibrateOptions", "calibrate_machine"),
    "machine": ("machine", "MachineOptions", "show_machines"),
    "stalls": ("stalls", "StallsOptions", "print_stalls"),
    "keys": ("about", "KeysOptions", "print_keys"),
    "schema": ("about", "SchemaOptions", "print_schema"),
    "scenarios": ("about", "ScenariosOptions", "print_scenarios"),
    "doctor": ("doctor", "DoctorOptions", "print_findings"),
    "version": ("about", "VersionOptions", "print_version"),
}
"""
Command -> its module, the class of its options, and the function that answers it.

The class stands in ``gpusim.commands.options.MODULE``, the function in ``gpusim.commands.MODULE``. The function takes
the options, and returns an exit code, or None for 0.
"""

_INTERRUPTED = 130
"""Exit code of an interrupted command, as shells expect it; typer returns it for an interrupt, and no command does."""


def options_of(command: str) -> type[Any]:
    """Return the class of a command's options, a frozen dataclass whose docstring is the command's help."""
    module, options, _ = COMMANDS[command]
    found: type[Any] = getattr(import_module(f"gpusim.commands.options.{module}"), options)
    return found


def answer_of(command: str) -> Callable[[Any], int | None]:
    """Return the function that answers a command; importing it imports the rooms that it asks."""
    module, _, answer = COMMANDS[command]
    found: Callable[[Any], int | None] = getattr(import_module(f"gpusim.commands.{module}"), answer)
    return found


def _callback(command: str) -> Callable[..., None]:
    """Return a function whose parameters are the options of a command: typer makes the command of it."""
    options = options_of(command)

    def answer(**values: Any) -> None:
        given = {name: tuple(one) if isinstance(one, list) else one for name, one in values.items() if one is not None}
        raise typer.Exit(answer_of(command)(options(**given)) or 0)

    answer.__doc__ = options.__doc__
    answer.__signature__ = Signature([_parameter(field) for field in fields(options)])  # type: ignore[attr-defined]
    return answer


def _parameter(field: "Field[Any]") -> Parameter:
    """Return an option as typer takes it: one that can be repeated is a list, or None where it is left out."""
    kind, about = get_args(field.type)
    default = Parameter.empty if field.default is MISSING else field.default
    if get_origin(kind) is tuple:
        kind, default = GenericAlias(list, get_args(kind)[:1]), None if default == () else default
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


class _Commands(TyperGroup):
    """The commands, each made when it is asked for: who runs one does not wait for the options of the others."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 # typer's
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            # Typer suggests a command with a similar name, of those in this table.
            self.commands.update({name: self.get_command(ctx, name) for name in COMMANDS})
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(cmd_name)(_callback(cmd_name))
        return typer.main.get_command(alone)


def _print_version(asked: bool) -> None:
    if asked:
        raise typer.Exit(answer_of("version")(options_of("version")()) or 0)


app = typer.Typer(
    name="gpusim",
    cls=_Commands,
    help="Simulates CUTLASS tile kernels inside an NVIDIA SM, without a GPU.",
    epilog="Exit codes: 0 done; 1 it could not be done; 2 bad usage or scenario; 3 done, and a check did not hold.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


@app.callback()
def gpusim(
    *,
    version: Annotated[  # its callback prints and ends
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and exit.")
    ] = False,
) -> None:
    """Simulates CUTLASS tile kernels inside an NVIDIA SM, without a GPU."""


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command line.

    Every expected error becomes one line on stderr. An answer that stdout does not take is exit code 1. A character
    that stdout's encoding lacks is printed as its escape.

    Args:
        argv: Arguments without the program's name; None takes the process's.

    Returns:
        The exit code; 130 after an interrupt, which is one line on stderr, too.
    """
    open_missing_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = app(args=argv, prog_name="gpusim", standalone_mode=False)
        if code == _INTERRUPTED:
            complain("interrupted")
        with answering():
            sys.stdout.flush()
    except GpusimError as error:
        return _complain(str(error), error.exit_code)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "gpusim"
        return _complain(f"{error.format_message()} (see `{command} --help`)", error.exit_code)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BrokenPipeError:  # the reader of stdout has closed it
        return 1
    except (OSError, MemoryError) as error:
        return _complain(_reason(error), 1)
    finally:
        finish_stdout()
    return int(code or 0)


def _complain(message: str, code: int) -> int:
    complain(message)
    return code


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory ({error})" if str(error) else "out of memory"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
