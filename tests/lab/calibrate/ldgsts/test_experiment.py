"""The launches of the LDGSTS experiment, and what each reading of its counter predicts for them."""

import numpy as np
import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.gpu import ncu
from gpusim.lab.calibrate.ldgsts import experiment
from gpusim.lab.calibrate.ldgsts.experiment import LDGSTS_METRICS, Case, cases, hypotheses
from gpusim.lab.calibrate.ldgsts.patterns import NO_SOURCE, gemm_patterns, row_pattern
from gpusim.lab.calibrate.runner import read_rows


def each(case):
    """
    Predictions for one instruction.
    """
    row = hypotheses(case)
    return {name: value / row["instructions"] for name, value in row.items()}


@pytest.mark.parametrize(
    ("row_bytes", "target", "predicted"),
    [
        (512, "linear", {"by_pattern": 4, "by_line": 4, "by_half_line": 8, "by_sector": 16}),
        (128, "crosswise", {"by_pattern": 4, "by_line": 4, "by_half_line": 8, "by_sector": 16}),
        (64, "crosswise", {"by_pattern": 4, "by_line": 8, "by_half_line": 8, "by_sector": 16}),
        (64, "row_major", {"by_pattern": 8, "by_line": 8, "by_half_line": 8, "by_sector": 16}),
        (16, "row_major", {"by_pattern": 32, "by_line": 32, "by_half_line": 32, "by_sector": 32}),
    ],
)
def test_readings_of_the_counter_differ_where_rows_are_short(row_bytes, target, predicted):
    found = each(Case(row_pattern(row_bytes, target=target), "cg", "plain"))
    assert {name: found[name] for name in predicted} == predicted


def test_zero_fill_writes_every_lane_and_a_guard_only_the_valid_ones():
    pattern = row_pattern(128, target="crosswise", lanes="low")
    assert each(Case(pattern, "cg", "zfill"))["by_pattern"] == 4
    assert each(Case(pattern, "cg", "guarded"))["by_pattern"] == 2
    assert each(Case(pattern, "cg", "zfill"))["sectors"] == 8


def test_copies_without_a_source_read_nothing():
    pattern = row_pattern(128, target="crosswise", lanes="none")
    assert (pattern.source == NO_SOURCE).all()
    assert hypotheses(Case(pattern, "cg", "guarded"))["by_pattern"] == 0


def test_every_lane_has_a_target_of_its_own():
    for case in cases():
        pattern = case.pattern
        assert len(np.unique(pattern.target)) == pattern.target.size
        assert not (pattern.target % pattern.bytes).any()
        assert int(pattern.target.max()) + pattern.bytes <= pattern.shared_bytes <= 227 * 1024


def test_launches_fit_the_kernels_tables():
    for case in cases():
        assert case.pattern.copies in {1, 2, 4, 6, 8, 16}
        assert case.pattern.threads <= 256
        last = int(case.pattern.source.max()) + case.repetitions * case.step_bytes + 16
        assert last <= 64 * 2**20
        slots = (case.stages - 1) * case.pattern.stage_bytes
        assert int(case.pattern.target.max()) + slots + case.pattern.bytes <= case.pattern.shared_bytes


def test_k_tiles_are_copied_whole():
    """
    128x128x64: 16 copies of 128 threads, 16 bytes each, are both 128 x 64 fp16 tiles.
    """
    both = next(pattern for pattern in gemm_patterns() if pattern.name == "k tile of gemm 128x128x64, A and B")
    assert both.copies * both.threads * 16 == 2 * 128 * 64 * 2
    assert both.stage_bytes == 128
    assert both.step_bytes == 128


def test_a_row_must_hold_whole_copies():
    with pytest.raises(BadInput, match="row_bytes must be a multiple of 16 up to 512, got 24"):
        row_pattern(24, target="linear")


@pytest.mark.usefixtures("device")
class TestRun:
    @pytest.fixture
    def device(self, monkeypatch):
        class Fake:
            def provenance(self):
                return {"GPU": "double"}

        monkeypatch.setattr(experiment, "Device", Fake)
        monkeypatch.setattr(ncu, "available_metrics", frozenset)

    def counted(self):
        return [
            ncu.KernelCounters(case.kernel, (1, 1, 1), (case.pattern.threads, 1, 1), {LDGSTS_METRICS[0]: 4.0 * number})
            for number, case in enumerate(cases())
        ]

    def test_counters_stand_beside_the_predictions(self, monkeypatch, tmp_path):
        monkeypatch.setattr(ncu, "profile", lambda *_a, **_k: (self.counted(), ["lost__metric.sum"]))

        rows = read_rows(experiment.run(tmp_path / "new"))

        assert "# metrics not on this GPU: lost__metric.sum" in (tmp_path / "new" / "ldgsts.csv").read_text()
        assert len(rows) == len(cases())
        assert [row[LDGSTS_METRICS[0]] for row in rows[:3]] == ["0", "4", "8"]
        assert {"pattern", "target", "op", "mode", "instructions", "by_pattern", "by_line"} <= set(rows[0])

    def test_a_lost_launch_is_an_error(self, monkeypatch, tmp_path):
        monkeypatch.setattr(ncu, "profile", lambda *_a, **_k: (self.counted()[1:], []))
        with pytest.raises(CannotRun, match="ncu saw 357 launches, not the 358 of the experiment in their order"):
            experiment.run(tmp_path)
