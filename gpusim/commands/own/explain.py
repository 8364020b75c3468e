"""``gpusim explain`` of a kernel of the user's own: what its warps wait for, where, and which accesses cost more."""

from gpusim.commands.output import print_json, print_text
from gpusim.report.own.explanation import explain_kernel
from gpusim.report.tables import print_tables
from gpusim.results.kernel_result import KernelResult


def print_kernel_explanation(result: KernelResult, *, as_json: bool) -> None:
    """Explain the answer about a kernel of the user's own, and print it."""
    found = explain_kernel(result)
    if as_json:
        print_json(found.to_dict())
        return
    print_text(f"{result.kernel}: {found.verdict}\n\n" + "\n".join(found.sentences))
    print_text("")
    print_tables(
        ("resource", ["% of peak"], [(name, f"{100 * share:.1f}") for name, share in result.of_peak.items()]),
    )
