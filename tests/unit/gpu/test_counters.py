"""ncu's figures of many launches: from its CSV, from its Python module, and from an ncu that knows fewer metrics."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpusim.errors import CannotRun
from gpusim.families.attention.cuda import ATTENTION_ENTRY
from gpusim.families.gemm.reduction.cuda import REDUCTION_ENTRY
from gpusim.families.gemm.specialise import ENTRY
from gpusim.gpu import counters, ncu

METRICS = {"sm__cycles_elapsed.max": 1234.0, "smsp__inst_executed.sum": 99.0}
CSV = (
    "==PROF== Connected to process 1\n"
    '"ID","Process ID","Kernel Name","Block Size","Grid Size","sm__cycles_elapsed.max","smsp__inst_executed.sum",'
    '"sass__inst_executed_per_opcode","device__attribute_warp_size"\n'
    '"","","","","","cycle","inst","",""\n'
    '"0","1","gpusim_kernel","(128, 1, 1)","(8, 4, 1)","1,234","99","1,005 (HMMA: 1,000; LDSM: 5)","32"\n'
    '"1","1","gpusim_kernel","(256, 1, 1)","(2, 2, 3)","77","8","12 (BAR: 12)","32"\n'
)


def test_the_csv_gives_counters_and_opcodes():
    first, second = counters.from_csv(CSV, "test")

    assert first == counters.Profile(
        (8, 4, 1), (128, 1, 1), METRICS, {"HMMA": {"executed": 1000.0}, "LDSM": {"executed": 5.0}}
    )
    assert (second.grid, second.opcodes) == ((2, 2, 3), {"BAR": {"executed": 12.0}})


def test_a_csv_without_instances_has_no_opcodes():
    without = CSV.replace("sass__inst_executed_per_opcode", "smsp__something.sum")

    assert [profile.opcodes for profile in counters.from_csv(without, "test")] == [{}, {}]


class Metric:
    def __init__(self, value, instances=(), keys=()):
        self._value, self._instances, self._keys = value, instances, keys

    def value(self, index=None):
        return self._value if index is None else self._instances[index]

    def as_uint64(self, index=None):
        return self._value if index is None else self._keys[index]

    def as_string(self, index):
        return self._keys[index]

    def num_instances(self):
        return len(self._instances)

    def has_correlation_ids(self):
        return bool(self._keys)

    def correlation_ids(self):
        return self


SASS = {16: "@!P0 LDSM.16.M88.4 R4, [R2]", 32: "LDSM.16.M88.4 R8, [R2]", 48: "      BAR.SYNC.DEFER_BLOCKING 0x0"}
IN_THE_REPORT = {
    "sm__cycles_elapsed.max": Metric(1234),
    "smsp__inst_executed.sum": Metric(99.0),
    "device__attribute_warp_size": Metric(32),
    "launch__grid_dim_x": Metric(8),
    "launch__grid_dim_y": Metric(4),
    "launch__grid_dim_z": Metric(1),
    "inst_executed": Metric(30, (10, 15, 5), (16, 32, 48)),
    "memory_l1_wavefronts_shared": Metric(100, (40, 60, 0), (16, 32, 48)),
    "sass__inst_executed_per_opcode": Metric(31, (25, 6), ("LDSM", "BAR")),
}


class Action:
    """A launch as ``ncu_report`` shows it: three instructions of two opcodes."""

    def metric_names(self):
        return tuple(IN_THE_REPORT)

    def metric_by_name(self, name):
        return IN_THE_REPORT[name]

    def sass_by_pc(self, address):
        return SASS[address]


RANGE = SimpleNamespace(num_actions=lambda: 1, action_by_idx=lambda _: Action())
MODULE = SimpleNamespace(load_report=lambda _: SimpleNamespace(num_ranges=lambda: 1, range_by_idx=lambda _: RANGE))


def test_the_module_gives_figures_of_each_opcode():
    (profile,) = counters.from_module(MODULE, Path("launches.ncu-rep"))

    assert profile.counters == METRICS
    assert profile.grid == (8, 4, 1)
    assert profile.opcodes == {
        "LDSM": {"executed": 25.0, "wavefronts": 100.0},
        "BAR": {"executed": 6.0, "wavefronts": 0.0},
    }


@pytest.mark.parametrize(
    ("sass", "opcode"),
    [
        ("LDGSTS.E.BYPASS.LTC128B.128 [R1], desc[UR4][R2.64], P0", "LDGSTS"),
        ("@!UP1 UIADD3 UR4, UR4, 0x1, URZ", "UIADD3"),
        ("@!PT LDS RZ, [RZ]", "LDS"),
        ("  @P6 HMMA.16816.F32 R4, R8, R12, R4", "HMMA"),
        ("", ""),
    ],
)
def test_the_opcode_is_the_first_word_without_its_guard(sass, opcode):
    assert counters.opcode_of(sass) == opcode


class Ncu:
    """An ncu that knows some metrics and writes a report of two launches, or none."""

    def __init__(self, *, unknown=(), refuses_sections=False, launched=("first", "second")):
        self.unknown, self.refuses_sections, self.launched = set(unknown), refuses_sections, launched
        self.calls = []

    def __call__(self, command, _seconds):
        self.calls.append(command)
        if "--import" in command:
            return CSV
        report, asked = command[command.index("--export") + 1], command[command.index("--metrics") + 1].split(",")
        missing = [name for name in asked if name in self.unknown]
        if missing:
            return f"==ERROR== Failed to find metric {missing[0]}\n"
        if self.refuses_sections and "--section" in command:
            return "==ERROR== Section SourceCounters not found\n"
        Path(report).write_bytes(b"report")
        log = Path(command[command.index("--log") + 1])
        log.write_text(json.dumps({"launched": self.launched, "failed": {}}))
        return "==PROF== done\n"


@pytest.fixture
def with_ncu(monkeypatch):
    def install(**ways):
        double = Ncu(**ways)
        monkeypatch.setattr(counters, "_run", double)
        monkeypatch.setattr(ncu, "find_ncu", lambda: "ncu")
        monkeypatch.setattr(ncu, "available_metrics", frozenset)
        monkeypatch.setattr(counters, "import_ncu_report", lambda: None)
        return double

    return install


def test_metrics_that_ncu_does_not_know_are_left_out(with_ncu, tmp_path):
    unknown = ("sm__inst_executed_pipe_ipa.sum", "lts__t_sectors_op_write.sum")
    said: list[str] = []
    with_ncu(unknown=unknown)

    selection = counters.settle(Path("first.toml"), tmp_path, said.append)

    assert set(selection[-1].split(",")) == {*counters.METRICS, counters.BY_OPCODE} - set(unknown)
    assert said == [f"ncu does not offer here: {', '.join(unknown)}"]


def test_an_ncu_without_source_counters_still_counts(with_ncu, tmp_path):
    said: list[str] = []
    with_ncu(refuses_sections=True)

    selection = counters.settle(Path("first.toml"), tmp_path, said.append)

    assert selection == ["--metrics", ",".join(counters.METRICS)]
    (line,) = said
    assert line.startswith("ncu wrote no report (==ERROR== Section SourceCounters not found); once more, ")


def test_an_ncu_that_knows_nothing_is_said(with_ncu, tmp_path):
    with_ncu(unknown=counters.METRICS)

    with pytest.raises(CannotRun, match="ncu wrote no report: ==ERROR== Failed to find metric"):
        counters.settle(Path("first.toml"), tmp_path)


def test_launches_are_matched_in_order(with_ncu, tmp_path):
    double = with_ncu()

    profiles = counters.profile_scenarios(
        [Path("first.toml"), Path("second.toml")], tmp_path, ["--metrics", "a"], ["-x"]
    )

    assert list(profiles) == ["first", "second"]
    assert profiles["second"].counters["sm__cycles_elapsed.max"] == 77
    assert (tmp_path / "launches.csv").read_text() == CSV
    command = double.calls[0]
    assert command[command.index("--kernel-name") + 1] == r"regex:^gpusim_\w+$"
    assert command[6:10] == ["--clock-control", "none", "--cache-control", "all"]
    assert command[-3:] == ["-x", "first.toml", "second.toml"]


def test_launches_of_one_scenario_count_together(with_ncu, tmp_path):
    with_ncu(launched=("first", "first"))

    profiles = counters.profile_scenarios([Path("first.toml")], tmp_path, ["--metrics", "a"])
    one, other = counters.from_csv(CSV, "test")

    assert list(profiles) == ["first"]
    cycles = "sm__cycles_elapsed.max"
    assert profiles["first"].counters[cycles] == one.counters[cycles] + other.counters[cycles]
    assert profiles["first"].grid == one.grid


def test_ratios_of_launches_are_weighted_by_what_they_divide_by():
    """(1 x 300 + 5 x 100) / 400 = 2 stalled warps for each instruction; (50 % x 30 + 90 % x 10) / 40 = 60 %."""
    ratio, share = counters.METRICS[-1], "sm__warps_active.avg.pct_of_peak_sustained_active"

    def profile(stalled, percent, instructions, cycles):
        found = {"smsp__inst_executed.sum": instructions, "sm__cycles_active.avg": cycles}
        return counters.Profile(
            (1, 1, 1), (32, 1, 1), found | {ratio: stalled, share: percent}, {"LDG": {"executed": instructions}}
        )

    both = counters.together([profile(1.0, 50.0, 300.0, 30.0), profile(5.0, 90.0, 100.0, 10.0)])

    assert both.counters == {"smsp__inst_executed.sum": 400, "sm__cycles_active.avg": 40, ratio: 2.0, share: 60.0}
    assert both.opcodes == {"LDG": {"executed": 400}}


def test_another_number_of_launches_is_refused(with_ncu, tmp_path):
    with_ncu(launched=("first",))

    with pytest.raises(CannotRun, match="ncu counted 2 launches, but 1 were made"):
        counters.profile_scenarios([Path("first.toml")], tmp_path, ["--metrics", "a"])


KERNELS = {"kernel.cu": ENTRY, "reduction.cu": REDUCTION_ENTRY, "attention/kernel.cu": ATTENTION_ENTRY}


@pytest.mark.parametrize(("file", "entry"), KERNELS.items(), ids=KERNELS)
def test_the_kernels_it_profiles_are_those_that_are_launched(file, entry):
    source = Path(__file__).parents[3] / "kernels_cuda" / file
    assert f" {entry}(" in source.read_text()
    assert re.search(counters.KERNELS.removeprefix("regex:"), entry)


def test_every_metric_is_asked_for_once():
    assert len(set(counters.METRICS)) == len(counters.METRICS)
