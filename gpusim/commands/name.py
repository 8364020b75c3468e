"""``gpusim name``: prints the name that CUTLASS's profiler gives a scenario's kernel."""

from gpusim.commands.options.name import NameOptions
from gpusim.commands.output import print_json, print_text, progress
from gpusim.commands.scenario_source import read_scenario, scenario_text
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.cutlass_name import format_name, parse_name
from gpusim.scenario.text import Origin
from gpusim.verbs.load import is_kernel_name


def print_name(options: NameOptions) -> None:
    """
    Print the name.

    A name does not contain the threadblock swizzle. If the scenario's differs from that of CUTLASS's library, a line on
    stderr says so.

    Raises:
        BadInput: The scenario is wrong, or its kernel has no name; the message has the key that prevents one.
    """
    file = scenario_text(options.file, options.cutlass)
    scenario = read_scenario(file, options.overrides)
    place = file if is_kernel_name(file) else str(find_scenario(file))
    name = format_name(scenario, Origin(place, {text.partition("=")[0].strip(): text for text in options.overrides}))
    swizzle = parse_name(name)["kernel"]["threadblock_swizzle"]
    if options.as_json:
        print_json({"name": name, "threadblock_swizzle": swizzle})
        return
    print_text(name)
    own = scenario.kernel.threadblock_swizzle
    if own != swizzle:
        progress(f"its kernel in CUTLASS's library has threadblock_swizzle {swizzle}, the scenario {own}")
