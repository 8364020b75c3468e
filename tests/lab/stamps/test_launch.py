"""Launches of timeline builds: a row for each launch, and what fails does not lose what others measured."""

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.lab.stamps import launch


class NoDevice:
    """A CuPy of which only the memory pool is asked for."""

    def get_default_memory_pool(self):
        return self

    def free_all_blocks(self):
        pass


def test_a_file_that_fails_leaves_the_rows_of_others(tmp_path, monkeypatch, capsys):
    def phases(_, file, times):
        if file.stem == "bad":
            raise BadInput("no such kernel")
        return [{"name": file.stem, "launch": number, "end": 7} for number in range(times)]

    monkeypatch.setattr(launch, "import_cupy", NoDevice)
    monkeypatch.setattr(launch, "stamped_phases", phases)

    assert launch.main([f"{tmp_path / 'rows.csv'}", "a.toml", "bad.toml", "b.toml", "--times", "2"]) == 1
    assert capsys.readouterr().err == "bad: no such kernel\n"
    assert (tmp_path / "rows.csv").read_text().splitlines() == ["name,launch,end", "a,0,7", "a,1,7", "b,0,7", "b,1,7"]


def test_without_a_gpu_nothing_is_written(tmp_path, monkeypatch, capsys):
    def missing():
        raise CannotRun("no GPU here")

    monkeypatch.setattr(launch, "import_cupy", missing)

    assert launch.main([f"{tmp_path / 'rows.csv'}", "a.toml"]) == CannotRun.exit_code
    assert capsys.readouterr().err == "no GPU here\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [[], ["rows.csv"], ["rows.csv", "a.toml", "--times", "some"]])
def test_what_is_missing_is_said(arguments):
    with pytest.raises(SystemExit):
        launch.main(arguments)
