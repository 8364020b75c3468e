# The public names of gpusim for type checkers and editors; __init__.py imports each when it is first used.

from gpusim.errors import GpusimError as GpusimError
from gpusim.families.verification import VerifyReport as VerifyReport
from gpusim.layout.bank_map import LayoutReport as LayoutReport
from gpusim.layout.bank_map import describe_layout as describe_layout
from gpusim.layout.named import shared_layout as shared_layout
from gpusim.layout.search import find_conflict_free as find_conflict_free
from gpusim.layout.search_report import search_layout as search_layout
from gpusim.machine.load import load_machine as load_machine
from gpusim.machine.load import machine_names as machine_names
from gpusim.python.compare import compare as compare
from gpusim.python.explain import explain as explain
from gpusim.python.kernel import KernelRun as KernelRun
from gpusim.python.kernel import ReadyKernel as ReadyKernel
from gpusim.python.kernel import kernel as kernel
from gpusim.python.run import Run as Run
from gpusim.python.run import read_run as read_run
from gpusim.python.simulate import simulate as simulate
from gpusim.python.triton import triton as triton
from gpusim.python.verify import verify as verify
from gpusim.results.result import Result as Result
from gpusim.scenario.catalogue import scenario_names as scenario_names
from gpusim.scenario.models import Scenario as Scenario
from gpusim.verbs.load import load as load
from gpusim.verbs.sweep import Sweep as Sweep
from gpusim.verbs.sweep import sweep as sweep
from gpusim.verbs.tune import Tuning as Tuning
from gpusim.verbs.tune import tune as tune

__version__: str
