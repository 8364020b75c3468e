"""Machine files: every figure a record with its source, and what breaks a rule is refused."""

import re
import tomllib
from importlib import resources

import pytest

from gpusim.errors import BadInput
from gpusim.machine import load_machine, machine_names
from gpusim.machine.figure import FIGURE_KINDS
from gpusim.machine.load import parse_machine
from gpusim.machine.spec import PIPES

H200 = resources.files("gpusim.machine").joinpath("h200.toml").read_text()
BANKS = 'banks = { value = 32, unit = "banks", kind = "documented", source = "cuda-guide", at = "shared memory" }'


def figures_in(table, prefix=""):
    for key, value in table.items():
        if isinstance(value, dict) and "value" in value:
            yield prefix + key
        elif isinstance(value, dict) and key != "sources":
            yield from figures_in(value, f"{prefix}{key}.")


def with_value(key, value, text=H200):
    """The text with another value of one figure, found by table and name."""
    table, _, name = key.rpartition(".")
    start = text.index(f"\n[{table or name}]\n")
    record = f"{name} = {{{{ value = " if table else "value = "
    changed, count = re.subn(rf"^({record.format()})\d+", rf"\g<1>{value}", text[start:], count=1, flags=re.MULTILINE)
    assert count == 1
    return text[:start] + changed


A100 = resources.files("gpusim.machine").joinpath("a100.toml").read_text()
FALLING = with_value(
    "dram.latency_late", 17, with_value("dram.latency_least", 15, with_value("dram.latency", 18, A100))
)
LATENCIES = f"15, 18, 17, {load_machine('a100').dram.latency_later}, {load_machine('a100').dram.latency_most}"
EARLY = with_value("barrier.base", 13, with_value("barrier.per_warp", 2))
EARLY = with_value("l2.semaphore", 15, EARLY)


def with_banks(record):
    assert H200.count(BANKS) == 1
    return H200.replace(BANKS, f"banks = {record}" if record else "")


MEDIAN = 'latency = { value = 686, unit = "cycles", kind = "assumed", why = "no figure" }\n'
FMA_LATENCY = next(line for line in H200[H200.index("[pipes.fma]") :].splitlines() if line.startswith("latency")) + "\n"

OTHERS = "[8, 16, 16, 16, 16, 16, 18, 18]"


def with_others(value):
    """The text with another list of the SMs of each group."""
    assert H200.count(f"others = {{ value = {OTHERS}") == 1
    return H200.replace(f"others = {{ value = {OTHERS}", f"others = {{ value = {value}")


def without_table(name, text=H200):
    """The text without one table."""
    changed, count = re.subn(rf"^\[{re.escape(name)}\]\n(?:.+\n)+", "", text, flags=re.MULTILINE)
    assert count == 1
    return changed


def test_the_machines_that_ship():
    assert machine_names() == (
        *("a10", "a100", "a5000", "h100_pcie", "h100_sxm", "h200", "l40s"),
        *("rtx2070", "rtx3060", "rtx3090", "rtx4090", "rtx5090", "t4"),
    )


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_of_a_machine_file_is_accounted_for(name):
    machine = load_machine(name)
    text = resources.files("gpusim.machine").joinpath(f"{name}.toml").read_text()

    assert {record.key for record in machine.figures} == set(figures_in(tomllib.loads(text)))
    assert sum(machine.figure_counts().values()) == len(machine.figures)
    assert tuple(machine.figure_counts()) == FIGURE_KINDS


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_has_a_source_or_a_reason_and_every_source_is_used(name):
    machine = load_machine(name)

    for record in machine.figures:
        assert record.why if record.kind == "assumed" else record.source, record.key
    assert {record.source for record in machine.figures} - {""} == set(machine.sources)


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_is_consistent(name):
    machine = load_machine(name)
    limits = machine.limits

    assert tuple(machine.pipes) == PIPES
    assert machine.features.cp_async == (machine.compute_capability >= 80) == (machine.async_copy is not None)
    assert limits.shared_bytes_per_cta + limits.shared_reserved_per_cta <= limits.shared_bytes <= machine.l1.bytes
    assert machine.shared.banks * machine.shared.bank_bytes == machine.l1.line_bytes
    assert machine.l2.hit_latency <= machine.l2.far_latency < machine.dram.latencies[-1]
    assert machine.shared.load_latency <= machine.l1.hit_latency < machine.l2.hit_latency
    # FP64 units of an SM serve all of its SMSPs. The interval is that of four SMSPs at once, the latency that of one.
    at_once = {"fp64": machine.smsps}
    waited_for = {name: pipe for name, pipe in (machine.pipes | machine.tensor).items() if pipe.latency is not None}
    assert all(pipe.interval <= pipe.latency * at_once.get(name, 1) for name, pipe in waited_for.items())


def test_tensor_rates_follow_the_published_tables():
    fma_per_cycle = {
        (name, shape): 4 * m * n * k / load_machine(name).tensor[shape].interval
        for name, shape, m, n, k in [
            ("a100", "m16n8k16.f16.f32", 16, 8, 16),
            ("a100", "m16n8k8.f16.f32", 16, 8, 8),
            ("t4", "m16n8k8.f16.f32", 16, 8, 8),
        ]
    }

    assert fma_per_cycle == {
        ("a100", "m16n8k16.f16.f32"): 1024,
        ("a100", "m16n8k8.f16.f32"): 1024,
        ("t4", "m16n8k8.f16.f32"): 512,
    }


@pytest.mark.parametrize(
    ("name", "peaks"),
    [
        ("a100", {"m16n8k16.f16.f32": 312, "m16n8k16.f16.f16": 312, "m16n8k8.tf32.f32": 156, "m16n8k32.s8.s32": 624}),
        ("l40s", {"m16n8k16.f16.f32": 366.5, "m16n8k16.bf16.f32": 366.5, "m16n8k8.tf32.f32": 183}),
        ("l40s", {"m16n8k32.s8.s32": 733, "m16n8k16.s8.s32": 733}),
        ("rtx3090", {"m16n8k16.f16.f32": 71.2, "m16n8k8.f16.f32": 71.2, "m16n8k16.bf16.f32": 71.2}),
        ("rtx3090", {"m16n8k16.f16.f16": 142.3, "m16n8k8.tf32.f32": 35.6, "m16n8k4.tf32.f32": 35.6}),
        ("rtx3090", {"m16n8k32.s8.s32": 284.7, "m16n8k16.s8.s32": 284.7, "m16n8k64.s4.s32": 569.3}),
        ("rtx4090", {"m16n8k16.f16.f32": 165.2, "m16n8k8.f16.f32": 165.2, "m16n8k16.bf16.f32": 165.2}),
        ("rtx4090", {"m16n8k16.f16.f16": 330.3, "m16n8k8.tf32.f32": 82.6, "m16n8k4.tf32.f32": 82.6}),
        ("rtx4090", {"m16n8k32.s8.s32": 660.6, "m16n8k16.s8.s32": 660.6, "m16n8k64.s4.s32": 1321.2}),
        ("t4", {"m16n8k8.f16.f32": 65, "m8n8k16.s8.s32": 130, "m8n8k32.s4.s32": 260}),
        ("a10", {"m16n8k16.f16.f32": 125, "m16n8k8.f16.f32": 125, "m16n8k16.bf16.f32": 125, "m16n8k16.f16.f16": 125}),
        ("a10", {"m16n8k8.tf32.f32": 62.5, "m16n8k32.s8.s32": 250, "m16n8k64.s4.s32": 500}),
        ("a5000", {"m16n8k16.f16.f32": 111.1, "m16n8k16.f16.f16": 111.1, "m16n8k8.tf32.f32": 55.5}),
        (
            "rtx2070",
            {"m16n8k8.f16.f32": 29.9, "m16n8k8.f16.f16": 59.7, "m8n8k16.s8.s32": 119.4, "m8n8k32.s4.s32": 238.9},
        ),
        ("rtx5090", {"m16n8k16.f16.f32": 209.5, "m16n8k8.f16.f32": 209.5, "m16n8k16.bf16.f32": 209.5}),
        ("rtx5090", {"m16n8k16.f16.f16": 419, "m16n8k8.tf32.f32": 104.8, "m16n8k32.s8.s32": 838}),
    ],
)
def test_tensor_cores_at_boost_reach_the_peak_of_the_whitepaper(name, peaks):
    """Dense, in 10^12 operations a second; whitepapers round to 0.1, T4's and A100's to 1."""
    machine = load_machine(name)
    reached = {}
    for shape in peaks:
        m, n, k = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)\..*", shape).groups())
        operations = 2 * m * n * k * machine.smsps * machine.sms
        reached[shape] = operations * machine.clock_mhz / machine.tensor[shape].interval / 1e6

    assert reached == pytest.approx(peaks, rel=0.002)


@pytest.mark.parametrize("name", ["h100_sxm", "h100_pcie"])
def test_an_sm_of_an_h100_is_that_of_an_h200(name):
    """Both are GH100. What differs is how many SMs there are, their clock, and the memory behind them."""
    h100, h200 = load_machine(name), load_machine("h200")
    of_one_sm = ("limits", "features", "pipes", "tensor", "mio", "shared", "async_copy", "barrier")

    assert [getattr(h100, part) for part in of_one_sm] == [getattr(h200, part) for part in of_one_sm]
    assert h100.l2.bytes < h200.l2.bytes
    assert h100.dram.bandwidth_gb_s < h200.dram.bandwidth_gb_s


def test_the_same_file_is_the_same_machine():
    assert parse_machine(H200, "h200", "x.toml") == load_machine("h200")
    assert parse_machine(H200, "h200", "x.toml").digest() == load_machine("h200").digest()
    assert load_machine("a100").digest() != load_machine("h200").digest()


def test_dram_bytes_per_kilocycle_follow_from_bandwidth_and_clock():
    dram = load_machine("h200").dram

    assert dram.clock_mhz == 1980
    assert dram.bytes_per_kilocycle == int(dram.bandwidth_gb_s * dram.achievable_percent / 100 * 1e6 / 1980)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (with_banks(""), "banks must be a record {{ value, unit, kind, source or why }}, got nothing (x.toml: {key})"),
        (with_banks("32"), "banks must be a record {{ value, unit, kind, source or why }}, got 32 (x.toml: {key})"),
        (
            with_banks(BANKS.removeprefix("banks = ").replace("32", "4096")),
            "value must be a power of two of 1 to 1024, got 4096 (x.toml: {key}.value)",
        ),
        (
            with_banks(BANKS.removeprefix("banks = ").replace("32", "33")),
            "value must be a power of two of 1 to 1024, got 33 (x.toml: {key}.value)",
        ),
        (
            with_banks('{ value = 32, unit = "banks", kind = "documented", source = ["cuda-guide"] }'),
            "source must be a string that is not empty, got ['cuda-guide'] (x.toml: {key}.source)",
        ),
        (
            with_banks('{ value = 32, unit = "banks", kind = "fitted", source = "cuda-guide", fitted_on = 3 }'),
            "fitted_on must be a list of strings, got 3 (x.toml: {key}.fitted_on)",
        ),
        (
            with_banks('{ unit = "banks" }'),
            "value must be a power of two of 1 to 1024, got nothing (x.toml: {key}.value)",
        ),
        (
            with_banks('{ value = 32.0, unit = "banks" }'),
            "value must be a power of two of 1 to 1024, got 32.0 (x.toml: {key}.value)",
        ),
        (
            with_banks('{ value = true, unit = "banks" }'),
            "value must be a power of two of 1 to 1024, got True (x.toml: {key}.value)",
        ),
        (with_banks('{ value = 32, unit = "bytes" }'), "unit must be 'banks', got 'bytes' (x.toml: {key}.unit)"),
        (
            with_banks('{ value = 32, unit = "banks", kind = "guessed" }'),
            "kind must be one of documented, measured, fitted, assumed, got 'guessed' (x.toml: {key}.kind)",
        ),
        (
            with_banks('{ value = 32, unit = "banks", kind = "measured" }'),
            "a measured figure must name a source, got nothing (x.toml: {key}.source)",
        ),
        (
            with_banks('{ value = 32, unit = "banks", kind = "assumed" }'),
            "an assumed figure must say why, got nothing (x.toml: {key}.why)",
        ),
        (
            with_banks('{ value = 32, unit = "banks", kind = "fitted", source = "driver" }'),
            "a fitted figure must list the runs it was fitted on, got nothing (x.toml: {key}.fitted_on)",
        ),
        (
            with_banks('{ value = 32, unit = "banks", kind = "measured", sauce = "driver" }'),
            'unknown key "sauce", did you mean "source"? (x.toml: {key}.sauce)',
        ),
        (
            H200.replace("[constant_cache]", "[constant_cash]"),
            'unknown key "constant_cash", did you mean "constant_cache"? (x.toml: constant_cash)',
        ),
        (
            H200.replace('[tensor."m16n8k16.f16.f32"]', "[tensor.hmma]"),
            "tensor keys must read like m16n8k16.f16.f32, got 'hmma' (x.toml: tensor.hmma)",
        ),
        (
            H200.replace("[pipes.mufu]", "[pipes.mfu]"),
            'unknown key "mfu", did you mean "mufu"? (x.toml: pipes.mfu)',
        ),
        (
            H200.replace("title = ", "titel = ", 1),
            "title must be a string that is not empty, got nothing (x.toml: title)",
        ),
        (
            H200.replace("cp_async = { value = true", "cp_async = { value = false"),
            "async_copy must be given exactly where features.cp_async is true, got a table (x.toml: async_copy)",
        ),
        (
            FALLING,
            (
                "dram.latency_least, latency, latency_late, latency_later and latency_most must not fall,"
                f" got {LATENCIES} (x.toml: dram)"
            ),
        ),
        (
            H200.replace("[dram]\n", "[dram]\n" + MEDIAN),
            (
                "dram.latency must be left out beside dram.late, which says when misses come, got 686"
                " (x.toml: dram.latency)"
            ),
        ),
        (
            H200.replace(
                "[dram]\n", '[dram]\nwrite_queue = { value = 8961, unit = "bytes", kind = "assumed", why = "-" }\n'
            ),
            (
                "dram.write_queue must be left out beside dram.turns, whose gathered says what a channel holds,"
                " got 8961 (x.toml: dram.write_queue)"
            ),
        ),
        (
            re.sub(r"\[dram\.turns\]\n(?:.+\n)+", "", H200),
            "dram.write_queue must be given where there is no dram.turns, got nothing (x.toml: dram.write_queue)",
        ),
        (
            re.sub(r"\[dram\.late\]\n(?:.+\n)+", "", H200),
            "dram.latency must be given where there is no dram.late, got nothing (x.toml: dram.latency)",
        ),
        (
            H200.replace("[l1]\n", "[l1]\nbytes_per_cycle = { value = 125 }\n"),
            (
                "l1.bytes_per_cycle must be left out: hits of the L1 are simulated by their wavefronts in the banks"
                " (x.toml: l1.bytes_per_cycle)"
            ),
        ),
        (
            H200.replace("[pipes.half]\n", "[pipes.half]\nlatency = { value = 4 }\n"),
            (
                "pipes.half.latency must be left out: no estimated instruction waits for it, and compiled ones have"
                " stall counts of their own (x.toml: pipes.half.latency)"
            ),
        ),
        (
            H200.replace(FMA_LATENCY, "", 1),
            "pipes.fma.latency must be given, got nothing (x.toml: pipes.fma.latency)",
        ),
        (
            with_value("l1.sector_bytes", 64),
            "value must be 32, no other is simulated, got 64 (x.toml: l1.sector_bytes.value)",
        ),
        (
            H200.replace("ldmatrix = { value = true", "ldmatrix = { value = false"),
            "value must be true, no other is simulated, got False (x.toml: features.ldmatrix.value)",
        ),
        (
            with_value("shared.banks", 2),
            (
                "shared.banks times shared.bank_bytes must be at least 16, the widest access of a lane, got 2 times 4"
                " (x.toml: shared)"
            ),
        ),
        (
            EARLY,
            ("l2.semaphore must exceed a barrier of one warp, 15 cycles, got 15 (x.toml: l2.semaphore)"),
        ),
        (
            with_others("132"),
            "value must be a list, each an integer of 1 to 4096, got 132 (x.toml: launch.units.others.value)",
        ),
        (
            with_others("[]"),
            "value must be a list, each an integer of 1 to 4096, got [] (x.toml: launch.units.others.value)",
        ),
        (
            with_others('[8, "16", 108]'),
            "value must be an integer of 1 to 4096, got '16' (x.toml: launch.units.others.value)",
        ),
        (
            with_others("[8, 16.0, 108]"),
            "value must be an integer of 1 to 4096, got 16.0 (x.toml: launch.units.others.value)",
        ),
        (
            with_others("[8, true, 115]"),
            "value must be an integer of 1 to 4096, got True (x.toml: launch.units.others.value)",
        ),
        (
            with_others("[8, [16], 108]"),
            "value must be an integer of 1 to 4096, got [16] (x.toml: launch.units.others.value)",
        ),
        (
            with_others("[8, 0, 116]"),
            "value must be an integer of 1 to 4096, got 0 (x.toml: launch.units.others.value)",
        ),
        (
            with_others("[8, 4097]"),
            "value must be an integer of 1 to 4096, got 4097 (x.toml: launch.units.others.value)",
        ),
        (
            with_others(OTHERS).replace(f'{OTHERS}, unit = "SMs"', f'{OTHERS}, unit = "GPCs"'),
            "unit must be 'SMs', got 'GPCs' (x.toml: launch.units.others.unit)",
        ),
        (
            with_value("shared.banks", "[32]"),
            "value must be a power of two of 1 to 1024, got [32] (x.toml: {key}.value)",
        ),
        (
            with_others("[8, 16, 16, 16, 16, 16, 18, 17]"),
            "launch.units.ahead and others must have 132 SMs together, got 131 (x.toml: launch.units)",
        ),
        (
            with_value("launch.units.ahead", 9),
            "launch.units.ahead and others must have 132 SMs together, got 133 (x.toml: launch.units)",
        ),
        (
            H200.replace("value = [0, 0, 1, 2, 3, 4, 5, 6, 7]", "value = [0, 0, 1, 2, 3, 4, 5, 6]"),
            (
                "launch.units.gpcs must have 9 numbers of 0 to 8, one for each group, got 0, 0, 1, 2, 3, 4, 5, 6"
                " (x.toml: launch.units.gpcs)"
            ),
        ),
        (
            H200.replace("value = [0, 0, 1, 1, 1, 0, 0, 0, 1]", "value = [0, 0, 1, 1, 2, 0, 0, 0, 1]"),
            "value must be an integer of 0 to 1, got 2 (x.toml: launch.units.sides.value)",
        ),
        (
            H200.replace("value = [5, 6, 8, 10, 12]", "value = [5, 6, 8, 10, 14]"),
            "value must be an integer of 0 to 13, got 14 (x.toml: l2.crossing.home_bits.value)",
        ),
        (
            H200.replace("value = [2706, 2822, 2863]", "value = [2706, 2822]"),
            (
                "launch.gpc_clocks.besides must have an entry for each of sms, 3, got 2"
                " (x.toml: launch.gpc_clocks.besides)"
            ),
        ),
        (
            H200.replace("value = [40000, 320000]", "value = [40000]"),
            "launch.gpc_clocks.cycles must be two numbers that ascend, got [40000] (x.toml: launch.gpc_clocks.cycles)",
        ),
        (
            H200.replace("value = [16, 64, 132]", "value = [64, 16, 132]"),
            "launch.gpc_clocks.sms must ascend, got [64, 16, 132] (x.toml: launch.gpc_clocks.sms)",
        ),
        (
            H200.replace("value = [34, 309, 1078]", "value = [34, 309, 100]"),
            "launch.gpc_clocks.far_apart must not be below apart, got 100 (x.toml: launch.gpc_clocks.far_apart)",
        ),
        (
            with_value("dram.late.on_time", 400),
            "dram.late.on_time must be at least 489, got 400 (x.toml: dram.late.on_time)",
        ),
        (
            with_value("dram.late.cycles", 4000),
            "dram.late.cycles must be 1 to 3925, got 4000 (x.toml: dram.late.cycles)",
        ),
        (
            H200.replace("value = [144, 216, 352]", "value = [144, 216, 512]"),
            "dram.late.part_masks must be 1 to 511, got 512 (x.toml: dram.late.part_masks)",
        ),
        (
            with_value("dram.late.region_bytes", 64),
            "dram.late.region_bytes must be at least 256, got 64 (x.toml: dram.late.region_bytes)",
        ),
        (
            with_value("dram.late.cycles", 3926),
            "dram.late.cycles must be 1 to 3925, got 3926 (x.toml: dram.late.cycles)",
        ),
        (
            H200.replace("value = [144, 216, 352]", "value = [144, 216, 72]"),
            (
                "dram.late.part_masks must each tell what the others do not, got 72 beside 144, 216, 72"
                " (x.toml: dram.late.part_masks)"
            ),
        ),
        (
            H200.replace("beyond.percent = { value = 11,", "beyond.percent = { value = 100,", 1),
            "value must be an integer of 0 to 99, got 100 (x.toml: tensor.m16n8k16.f16.f32.beyond.percent.value)",
        ),
        (
            with_value("sms", 66),
            "launch.units.ahead and others must have 66 SMs together, got 132 (x.toml: launch.units)",
        ),
        (
            re.sub(r"^between = .*\n", "", H200, flags=re.MULTILINE),
            (
                "between must be a record {{ value, unit, kind, source or why }}, got nothing"
                " (x.toml: launch.units.between)"
            ),
        ),
        (
            H200.replace("\nper_channel = ", "\nper_chanel = "),
            'unknown key "per_chanel", did you mean "per_channel"? (x.toml: dram.banks.per_chanel)',
        ),
        (
            without_table("dram.banks").replace("\n[dram]\n", "\n[dram]\nbanks = 16\n"),
            "dram.banks must be a table, got 16 (x.toml: dram.banks)",
        ),
        (
            "shared",
            "machine file must be TOML: Expected '=' after a key in a key/value pair (at end of document) (x.toml)",
        ),
    ],
)
def test_a_machine_file_that_breaks_a_rule_is_refused(text, message):
    with pytest.raises(BadInput) as refused:
        parse_machine(text, "x", "x.toml")

    assert str(refused.value) == message.format(key="shared.banks")


def test_a_figure_may_be_a_list():
    machine = load_machine("h200")
    (record,) = (record for record in machine.figures if record.key == "launch.units.others")

    assert record.value == machine.launch.units.others == (8, 16, 16, 16, 16, 16, 18, 18)
    assert (machine.launch.units.ahead, record.unit, record.kind) == (8, "SMs", "measured")


@pytest.mark.parametrize(
    ("table", "left_out"),
    [
        ("launch.units", 7),
        ("launch.reads", 2),
        ("constant_cache.lines", 1),
        ("launch.gpc_clocks", 5),
        ("dram.banks", 3),
        ("async_copy.pace", 4),
        ("l2.reach", 1),
    ],
)
def test_a_machine_may_not_know_groups_of_sms_clocks_banks_pace_or_reach(table, left_out):
    text = without_table(table)
    machine, whole = parse_machine(text, "h200", "x.toml"), load_machine("h200")
    of, _, part = table.partition(".")

    assert getattr(getattr(machine, of), part) is None
    assert len(machine.figures) == len(whole.figures) - left_out
    assert not [record.key for record in machine.figures if record.key.startswith(table)]
    assert machine.digest() != whole.digest()


def test_groups_of_sms_clocks_banks_and_the_reach_of_the_l2_are_known_of_an_h200_alone():
    for name in machine_names():
        machine = load_machine(name)
        parts = (
            machine.launch.units,
            machine.launch.reads,
            machine.launch.gpc_clocks,
            machine.dram.banks,
            machine.l2.reach,
        )
        known = {part is not None for part in parts}

        assert known == {name == "h200"}


def test_the_pace_of_copies_is_known_of_chips_with_the_sm_of_the_h200():
    copies = {name: load_machine(name).async_copy for name in machine_names()}

    assert {name for name, copy in copies.items() if copy and copy.pace} == {"h100_pcie", "h100_sxm", "h200"}
    assert len({copy.pace for copy in copies.values() if copy and copy.pace}) == 1


def test_a_source_that_is_not_listed_is_refused():
    text = with_banks('{ value = 32, unit = "banks", kind = "measured", source = "hearsay" }')

    with pytest.raises(BadInput, match=r"^source must be one of .*, got 'hearsay' \(x.toml: shared.banks.source\)$"):
        parse_machine(text, "x", "x.toml")


def test_a_name_that_is_no_machine_is_refused():
    with pytest.raises(BadInput) as refused:
        load_machine("h20")

    assert str(refused.value) == (
        f"machine must be one of {', '.join(machine_names())} or the path of a .toml file,"
        ' got "h20", did you mean "h200"?'
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("h100", ["h100_pcie", "h100_sxm"]),
        ("H100 SXM", ["h100_sxm"]),
        ("3090", ["rtx3090"]),
        ("RTX 4090", ["rtx4090"]),
        ("a100-sxm4-40gb", ["a100"]),
        ("h20", ["h200"]),
        ("b200", ["h200"]),
    ],
)
def test_a_name_that_is_no_machine_suggests_those_that_it_may_mean(name, meant):
    with pytest.raises(BadInput) as refused:
        load_machine(name)

    assert str(refused.value).endswith(f'got "{name}", did you mean ' + " or ".join(f'"{one}"' for one in meant) + "?")


def test_a_machine_may_be_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(H200)

    assert load_machine(str(path)).name == "mine"
    assert load_machine(str(path)).figures == load_machine("h200").figures


def test_a_machine_file_that_is_missing_is_refused():
    with pytest.raises(
        BadInput, match=r'^machine file must be readable, got "nowhere/x.toml" \(.*\); .*: a10, .*, t4$'
    ):
        load_machine("nowhere/x.toml")


@pytest.mark.parametrize(
    ("working", "active", "more"),
    [
        (16, 20_000, 2706 + 11),
        (64, 40_000, 2822 + 298),
        (132, 180_000, 2863 + 573 + 252),
        (98, 40_000, 2842 + 436),
        (8, 40_000, 2706 + 22),
        (200, 600_000, 2863 + 573 + 1010),
    ],
)
def test_clocks_come_apart_in_proportion_between_what_was_measured(working, active, more):
    """
    Of 16 SMs the fastest GPC is ahead by 22 cycles after 40,000, and by half of it after half of them.

    Of 132 by 573, and by 1,078 after 320,000: 505 in 280,000 more, 252 in half of them. Of 98, half-way from 64 to 132,
    by 436, half-way from 298 to 573; a launch takes 2,842 besides. Fewer than 16 are taken for 16, more than 132 for
    132; after 600,000 cycles it is twice the 505.
    """
    assert load_machine("h200").launch.gpc_clocks.more(working, active) == pytest.approx(more, abs=1)
