"""How ptxas spaces microbenchmarks' loops: read from control fields, worked by hand; the committed file as compiled."""

from pathlib import Path

import pytest

from gpusim.cuda.compiler import Compiler, find_compiler
from gpusim.errors import CannotRun, CheckFailed
from gpusim.lab.published import trips
from gpusim.lab.published.trips import (
    OWN,
    PUBLISHED,
    SpacedLoop,
    compiled_loops,
    cycles_of,
    main,
    spacing,
    spacings,
)
from gpusim.lower.sass.decode import Control

HMMA, NOP, BRA = 0x23C, 0x918, 0x947
ALWAYS = 7 << 12
YIELDS, STAYS = 0, 1


def word(opcode, stall, hint=STAYS, jump=0):
    """
    Return an instruction of sm_80; ``jump`` is in bytes from the next one.
    """
    nothing = 7 << 110 | 7 << 113 | 7 << 87
    return (opcode | ALWAYS | (jump // 4 & (1 << 48) - 1) << 34 | nothing | stall << 105 | hint << 109).to_bytes(
        16, "little"
    )


def control(stall, hint):
    return Control(stall, bool(hint), 7, 7, 0, 0)


def test_an_instruction_takes_its_stall_and_two_cycles_if_it_yields_at_once():
    assert [cycles_of(control(stall, STAYS)) for stall in (0, 1, 2, 15)] == [1, 1, 2, 15]
    assert [cycles_of(control(stall, YIELDS)) for stall in (0, 1, 2, 15)] == [2, 2, 2, 15]


def test_what_stands_between_counts_to_the_one_before_and_what_is_first_to_the_last():
    """
    NOP 3, HMMA 15, NOP that yields with 1, HMMA 4, branch back with 7, over five instructions.

    15 and 2 are 17 from the first to the second; 4 and 7, and the 3 at the head of the next trip, are 14.
    """
    body = [word(NOP, 3), word(HMMA, 15), word(NOP, 1, YIELDS), word(HMMA, 4), word(BRA, 7, jump=-5 * 16)]

    assert spacing(b"".join([word(NOP, 1), *body, word(NOP, 1)]), 80, "here") == (17, 14)


def test_a_kernel_without_such_a_loop_fails():
    with pytest.raises(CheckFailed, match=r"here: no loop with mma\.sync or ldmatrix"):
        spacing(word(HMMA, 4) + word(NOP, 1) + word(BRA, 7, jump=-16), 80, "here")


def test_a_chain_alone_of_half_as_much_takes_17_cycles_and_two_of_them_16():
    """46 of 48 gaps have a NOP that yields; two at the loop's control and end do not. Two chains are 4 and 12 apart."""
    alone = spacings()[SpacedLoop(OWN, "h200", "mma", "m16n8k8.f16.f32", 1)]
    two = spacings()[SpacedLoop(OWN, "h200", "mma", "m16n8k8.f16.f32", 2)]

    assert sorted(alone) == [16] * 2 + [17] * 46
    assert set(zip(two[:-2:2], two[1:-2:2], strict=True)) == {(4, 12)}


def test_the_committed_spacing_is_that_of_its_compiler():
    said = trips.trips_file().read_text().splitlines()[0]
    try:
        compiler = find_compiler("nvcc")
    except CannotRun as error:
        pytest.skip(str(error))
    if not said.endswith(f", {compiler.name} {compiler.version}"):
        pytest.skip(f"{compiler.name} {compiler.version} at hand; {said}")

    assert dict(compiled_loops()) == spacings()


def test_without_a_compiler_nothing_is_written(monkeypatch, tmp_path, capsys):
    def none(_):
        raise CannotRun("no CUDA compiler is installed")

    monkeypatch.setattr(trips, "find_compiler", none)

    assert main(["--out", str(tmp_path / "trips.csv")]) == CannotRun.exit_code
    assert "no CUDA compiler" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_loops_are_written_in_order(monkeypatch, tmp_path):
    second, first = (SpacedLoop(PUBLISHED, "a100", "mma", name, 2) for name in ("m16n8k8.f16.f32", "m16n8k16.f16.f32"))
    monkeypatch.setattr(trips, "find_compiler", find_nvcc)
    monkeypatch.setattr(trips, "compiled_loops", lambda: iter([(second, (4, 12)), (first, (8, 16))]))

    assert main(["--out", str(tmp_path / "trips.csv")]) == 0
    assert (tmp_path / "trips.csv").read_text().splitlines() == [
        "# python -m gpusim.lab.published.trips, nvcc 13.0.88",
        "source,machine,program,name,chains,cycles",
        "trips,a100,mma,m16n8k16.f16.f32,2,8 16",
        "trips,a100,mma,m16n8k8.f16.f32,2,4 12",
    ]


def find_nvcc(_):
    return Compiler("nvcc", "13.0.88", Path("nvcc"))


def test_a_folder_that_is_missing_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(trips, "find_compiler", find_nvcc)
    monkeypatch.setattr(trips, "compiled_loops", lambda: iter(()))

    assert main(["--out", str(tmp_path / "none" / "trips.csv")]) == CannotRun.exit_code
    assert "trips.csv: cannot be written" in capsys.readouterr().err


def test_a_row_of_no_whole_trips_is_refused(monkeypatch, tmp_path):
    (tmp_path / "trips.csv").write_text("source,machine,program,name,chains,cycles\ntrips,a100,mma,m16n8k8,2,4 12 4\n")
    monkeypatch.setattr(trips, "trips_file", lambda: tmp_path / "trips.csv")
    spacings.cache_clear()
    try:
        with pytest.raises(CannotRun, match="cycles must be of whole trips of 2, got 3"):
            spacings()
    finally:
        spacings.cache_clear()


def test_a_missing_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(trips, "trips_file", lambda: tmp_path / "none.csv")
    spacings.cache_clear()
    try:
        with pytest.raises(CannotRun, match=r"none\.csv: spacing of loops cannot be read"):
            spacings()
    finally:
        spacings.cache_clear()
