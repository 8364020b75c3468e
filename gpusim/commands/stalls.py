"""``gpusim stalls``: explains stall reasons and remedies: all, or those of a run with their shares."""

from pathlib import Path
from textwrap import wrap

from gpusim.commands.options.stalls import StallsOptions
from gpusim.commands.output import print_json, print_text
from gpusim.report.own.tables import stall_shares
from gpusim.report.stall_shares import percent, ranked_stalls
from gpusim.results import run_directory
from gpusim.results.kernel_result import load_kernel_result
from gpusim.results.stall_words import STALL_WORDS

_WIDTH = 78


def print_stalls(options: StallsOptions) -> None:
    """
    Print the definition of every stall reason, or of those that a run has.

    Raises:
        BadInput: The directory is no run directory.
    """
    directory = options.run_directory
    shares = {} if directory is None else _shares(directory)
    reasons = list(STALL_WORDS) if directory is None else list(shares)
    if options.as_json:
        print_json(
            [
                {
                    "reason": reason,
                    **({"share": shares[reason]} if reason in shares else {}),
                    "meaning": STALL_WORDS[reason].meaning,
                    "helps": STALL_WORDS[reason].helps,
                }
                for reason in reasons
            ]
        )
        return
    left = max(map(len, reasons), default=0) + 2
    lines = [f"{'reason':{left}}what the warp does, or waits for; what helps"]
    for reason in reasons:
        meaning, helps = STALL_WORDS[reason].meaning, STALL_WORDS[reason].helps
        share = f"{percent(shares[reason])}: " if reason in shares else ""
        told = [*wrap(share + meaning, _WIDTH), *wrap(f"helps: {helps}" if helps else "", _WIDTH)]
        lines += [f"{reason if not number else '':{left}}{line}" for number, line in enumerate(told)]
    print_text("\n".join(lines))


def _shares(directory: Path) -> dict[str, float]:
    """Return the share of each stall reason that a run has, the largest first."""
    if run_directory.is_own_run(directory):
        return dict(stall_shares(load_kernel_result(directory / run_directory.RESULT)))
    return dict(ranked_stalls(run_directory.read_run(directory)[0]))
