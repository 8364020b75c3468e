"""A machine file with measured figures put in: nothing else of it changes."""

import tomllib

import pytest

from gpusim.errors import BadInput
from gpusim.lab.calibrate.derive import Derived
from gpusim.lab.calibrate.machine_file import update_machine
from gpusim.machine import load

MACHINE = (load.resources.files("gpusim.machine") / "h200.toml").read_text()
DERIVED = {
    "tensor.m16n8k16.f16.f32.interval": Derived(7, 'mma.csv, "tile": 7.12'),
    "tensor.m16n8k16.f16.f32.beyond.percent": Derived(1, 'mma.csv, "tile": 7.01'),
    "l1.hit_latency": Derived(34, "latency.csv: 34.20"),
    "launch.units.others": Derived((18, 18, 16, 16, 16, 16, 16, 8), "places.csv, 16 CTAs"),
    "tensor.m16n8k128.b1.s32.interval": Derived(7, "mma.csv: 7.12"),
}


class TestUpdateMachine:
    def updated(self, tmp_path):
        path = tmp_path / "h200.toml"
        path.write_text(MACHINE)
        left_out = update_machine(path, DERIVED, "calibration", "Microbenchmarks on an H200", "reports/measured")
        return left_out, path.read_text()

    def test_only_the_measured_records_change(self, tmp_path):
        _, text = self.updated(tmp_path)
        before, after = MACHINE.splitlines(), text.splitlines()
        added = ["", "[sources.calibration]", 'title = "Microbenchmarks on an H200"', 'file = "reports/measured"']

        start = after.index("[sources.calibration]") - 1
        assert after[start : start + 4] == added
        del after[start : start + 4]
        changed = [line.split(" ")[0] for line, old in zip(after, before, strict=True) if line != old]
        assert changed == ["interval", "beyond.percent", "hit_latency", "others"]

    def test_a_list_is_written_as_a_list(self, tmp_path):
        _, text = self.updated(tmp_path)
        assert tomllib.loads(text)["launch"]["units"]["others"]["value"] == [18, 18, 16, 16, 16, 16, 16, 8]

    def test_a_record_is_measured_and_keeps_its_effect(self, tmp_path):
        _, text = self.updated(tmp_path)
        assert tomllib.loads(text)["tensor"]["m16n8k16.f16.f32"]["interval"] == {
            "value": 7,
            "unit": "cycles",
            "kind": "measured",
            "source": "calibration",
            "at": 'mma.csv, "tile": 7.12',
            "effect": "the most sensitive figure of this file",
        }

    def test_figures_the_file_lacks_are_named(self, tmp_path):
        left_out, _ = self.updated(tmp_path)
        assert left_out == ("tensor.m16n8k128.b1.s32.interval",)

    def test_a_second_update_adds_no_second_source(self, tmp_path):
        self.updated(tmp_path)
        path = tmp_path / "h200.toml"
        update_machine(path, DERIVED, "calibration", "another title", "elsewhere")
        assert path.read_text().count("[sources.calibration]") == 1

    def test_a_file_that_is_no_machine_is_refused(self, tmp_path):
        path = tmp_path / "x.toml"
        path.write_text("value = 1\n")
        with pytest.raises(BadInput):
            update_machine(path, DERIVED, "calibration", "t", "f")
        assert path.read_text() == "value = 1\n"
