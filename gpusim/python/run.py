"""A run: a result with its timeline, as tables, pictures, a notebook's HTML, and traces."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from gpusim import arguments
from gpusim.errors import CannotRun
from gpusim.families.registry import family_of, parse_scenario
from gpusim.machine.load import load_machine
from gpusim.report.notebook import html_summary
from gpusim.results import run_directory
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.results.whole_file import written_for_user

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PictureName: TypeAlias = Literal["overlap", "conflicts", "stalls", "roofline"]
"""The pictures of a run."""

TraceName: TypeAlias = Literal["perfetto", "kanata"]
"""The formats of trace files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Result):
    """
    The result of one run, and the timeline of one CTA.

    A notebook shows its verdict and a small table.

    Attributes:
        name: Name of the scenario; empty if it was made from data.
        timeline: Spans of the watched CTA.
    """

    name: str = field(default="", compare=False)
    timeline: Timeline = field(repr=False, compare=False)

    def __hash__(self) -> int:
        """Return a hash; equal runs have equal hashes."""
        return hash(self.result())

    def result(self) -> Result:
        """Return the result alone, without the timeline."""
        return Result(**{each.name: getattr(self, each.name) for each in fields(Result)})

    def plot(self, picture: PictureName) -> "Axes":
        """
        Draw a picture as ``gpusim plot`` does, into a new pyplot figure.

        Args:
            picture: "overlap" (ring slots that fill while others are read), "conflicts" (lanes that conflict in a
                bank), "stalls" (why warps wait) or "roofline".

        Returns:
            The first axes of the picture. ``axes.figure`` has all of them; you can change or save it.

        Raises:
            BadInput: There is no such picture.
            CannotRun: The result lacks the data of this picture.
        """
        from gpusim.report.style import new_figure  # noqa: PLC0415 - matplotlib is slow to import
        from gpusim.verbs.pictures import draw_picture  # noqa: PLC0415 - the same

        arguments.word("picture", picture, get_args(PictureName))
        return draw_picture(picture, self, self.timeline, new_figure(), self.name).axes[0]

    def write_trace(self, path: str | Path, trace_format: TraceName = "perfetto", *, replace: bool = False) -> None:
        """
        Write the timeline as a trace file, for Perfetto's or Konata's viewer.

        Args:
            path: The file.
            trace_format: "perfetto" or "kanata".
            replace: Replace an existing file that gpusim has made. Other files are never replaced.

        Raises:
            BadInput: There is no such format, or ``path`` exists and may not be replaced.
            CannotRun: The file cannot be written.
        """
        from gpusim.verbs.pictures import write_trace  # noqa: PLC0415 - its room is slow to import

        place = arguments.path("path", path)
        arguments.word("trace_format", trace_format, get_args(TraceName))
        try:
            with written_for_user(place, force=arguments.flag("replace", replace), option="replace=True") as aside:
                write_trace(trace_format, self, self.timeline, aside)
        except OSError as error:
            raise CannotRun(f"{place}: cannot be written ({error.strerror or error})") from error

    def _repr_html_(self) -> str:
        scenario = parse_scenario(self.scenario, run_directory.SCENARIO)
        return html_summary(self, family_of(scenario).words(scenario), load_machine(scenario.machine), self.name)


def run_of(result: Result, timeline: Timeline, name: str = "") -> Run:
    """Return a result and its timeline as a run."""
    return Run(**{each.name: getattr(result, each.name) for each in fields(Result)}, timeline=timeline, name=name)


def read_run(directory: str | Path) -> Run:
    """
    Read a run directory, as ``gpusim run`` writes them.

    Raises:
        BadInput: The folder is not a run directory, or one of its files has another schema.
    """
    return run_of(*run_directory.read_run(arguments.path("directory", directory)))
