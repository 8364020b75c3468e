"""The file of a baseline: what is written is read back, thresholds by precedence, and what is refused."""

import math

import pytest

from gpusim.errors import BadInput
from gpusim.results.marks import is_made_by_gpusim
from gpusim.verbs.performance.baseline import PerfBaseline, PerfEntry, baseline_text, read_baseline

METRICS = {
    "cycles": 1000,
    "registers": 64,
    "ctas_per_sm": 2,
    "conflicts": 0,
    "sectors": 4096,
    "instructions": 512,
}
ENTRY = PerfEntry(
    name="smooth",
    file="kernels/smooth.cu",
    machine="a100",
    figures="ab12",
    version="0.2.0",
    launch={
        "entry": "",
        "grid": [4],
        "block": [32, 8],
        "shared_bytes": 0,
        "arguments": {"x": "f32[8]", "n": 3},
        "defines": {"TILE": 32},
    },
    metrics=METRICS,
)
OTHER = PerfEntry(
    "filter<float, 8>", "k.toml", "h200", "cd", "0.2.0", ENTRY.launch, METRICS, {"cycles": 1.0}, "nvcc 13.0"
)
BASELINE = PerfBaseline({one.name: one for one in (ENTRY, OTHER)}, {"cycles": 2.0, "conflicts": math.inf})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "perf.toml"
    path.write_text(baseline_text(BASELINE))
    return path


def test_what_is_written_is_read_back(file):
    assert read_baseline(file) == BASELINE
    assert is_made_by_gpusim(file)


def test_each_metric_has_a_line_of_its_own(file):
    """A change of one metric is then one line of a diff."""
    assert "\ncycles = 1000\nregisters = 64\nctas_per_sm = 2\n" in file.read_text()


def test_the_nearest_threshold_counts():
    """The option's comes before the kernel's, that before the baseline's, and that before the metric's own."""
    assert BASELINE.threshold(ENTRY, "registers", {}) == 10
    assert BASELINE.threshold(ENTRY, "cycles", {}) == 2
    assert BASELINE.threshold(OTHER, "cycles", {}) == 1
    assert BASELINE.threshold(OTHER, "cycles", {"cycles": 7.0}) == 7


def test_new_entries_and_thresholds_replace_those_of_the_same_name():
    new = PerfEntry("smooth", "s.toml", "a100", "", "0.3.0", {}, METRICS)

    found = BASELINE.updated([new], {"cycles": 9.0})

    assert found.entries == {"smooth": new, OTHER.name: OTHER}
    assert found.thresholds == {"cycles": 9.0, "conflicts": math.inf}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('schema = "gpusim.perf/1"', "schema = 2", r"perf\.toml: schema must be 'gpusim\.perf/1', got 2$"),
        ("schema", "schema = =", r"perf\.toml: not a baseline \(.*\)$"),
        ("cycles = 1000\n", "", r"^kernels\.smooth\.metrics\.cycles must be an integer of at least 0, got None \(.*"),
        ("cycles = 1000", "cycles = -1", r"^kernels\.smooth\.metrics\.cycles must be .*, got -1 "),
        ('machine = "a100"', "machine = 4", r"^kernels\.smooth\.machine must be text, got 4 \("),
        ("cycles = 2.0", 'cycles = "2"', r'got "2" \(.*perf\.toml: thresholds\.cycles\)$'),
        ("cycles = 1.0", "speed = 1.0", r'^unknown metric speed, .*perf\.toml: kernels\."filter<float, 8>"\.'),
        ("[kernels.smooth.metrics]", "[kernels.smooth.metric]", r"^kernels\.smooth\.metrics\.cycles must be"),
        ("[thresholds]", "[[thresholds]]", r"^thresholds must be a table, got \[\{"),
    ],
)
def test_a_damaged_baseline_is_refused_by_file_and_key(file, old, new, message):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))

    with pytest.raises(BadInput, match=message):
        read_baseline(file)


def test_a_missing_baseline_is_refused_with_the_option_that_makes_one(tmp_path):
    with pytest.raises(BadInput, match=r"cannot be read \(No such file or directory\); --write-baseline makes one$"):
        read_baseline(tmp_path / "none.toml")
