"""What a program hands to a public function: a wrong argument is refused by name, and a right one of any kind taken."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.errors import BadInput, CannotRun
from gpusim.layout.accesses import rows_access
from gpusim.layout.named import shared_layout

ITSELF: list[object] = []
ITSELF.append(ITSELF)

WRONG = {
    "None": None,
    "5": 5,
    "-1": -1,
    "a number beyond all": 10**21,
    "no text": "",
    "a text": "no such thing",
    "a null byte": "a\0b",
    "a long text": "x" * 5000,
    "no list": [],
    "a list of it": [5],
    "no table": {},
    "a table of numbers": {5: [3]},
    "an object": object(),
    "nan": float("nan"),
    "a path": Path("no/such/path"),
    "bytes": b"gemm_ragged",
    "a list of itself": ITSELF,
    "an array": np.arange(3),
}

DATA = {"machine": "h200", "problem": {"kind": "gemm", "m": 64, "n": 64, "k": 64}}
CUBIN = Path(__file__).parent / "python" / "data" / "odd.cubin"
SETTINGS = {"kernel.stages": [3]}
ACCESSES = (("load", "16B"),)
TILE = shared_layout("row_major", 16, 64, 64, 1)
LANES = (rows_access("load", "load", 16, TILE, contiguous=0, strided=0),)


class LikeTriton:
    """What gpusim asks of a function of Triton before it is launched."""

    arg_names = ("x",)

    def run(self):
        raise AssertionError


RIGHT = {
    "compare": ((DATA, DATA), {"exact": None, "stream": "estimated"}),
    "describe_layout": (
        (),
        {
            "name": "crosswise",
            "bits": 16,
            "contiguous": 64,
            "strided": 64,
            "stages": 1,
            "accesses": ACCESSES,
            "base": 0,
        },
    ),
    "explain": ((), {"what": DATA, "exact": None, "stream": "estimated"}),
    "find_conflict_free": (
        (),
        {
            "accesses": LANES,
            "extents": (64, 64),
            "bits": 16,
            "layout": None,
            "first_is_contiguous": False,
            "base": 0,
        },
    ),
    "kernel": ((), {"source": CUBIN, "entry": "exchange", "machine": "a100", "defines": None}),
    "load": ((), {"source": DATA, "overrides": ()}),
    "load_machine": ((), {"name_or_path": "h200"}),
    "machine_names": ((), {}),
    "read_run": ((), {"directory": "run"}),
    "scenario_names": ((), {}),
    "search_layout": (
        (),
        {"name": "row_major", "bits": 16, "contiguous": 64, "strided": 64, "accesses": ACCESSES, "base": 0},
    ),
    "shared_layout": (
        (),
        {"name": "crosswise", "element_bits": 16, "contiguous": 64, "strided": 64, "stages": 1, "vector_bits": 128},
    ),
    "simulate": ((), {"scenario": DATA, "exact": None, "stream": "estimated", "engine": "auto"}),
    "sweep": (
        (),
        {
            "scenario": DATA,
            "over": SETTINGS,
            "out": None,
            "jobs": 1,
            "overrides": (),
            "scheduler": None,
            "exact": None,
            "stream": "estimated",
            "table": "csv",
            "force": False,
            "progress": None,
        },
    ),
    "triton": ((), {"function": LikeTriton(), "machine": "a100", "types": {"x": "bf16"}}),
    "tune": (
        (),
        {
            "scenario": DATA,
            "jobs": 1,
            "budget": 2,
            "configurations": [{"kernel.stages": 3}],
            "scheduler": None,
            "exact": None,
            "stream": "estimated",
            "progress": None,
        },
    ),
    "verify": (
        (),
        {"scenario": DATA, "seed": 0, "mutate": None, "reference_check": True, "save_tensors": None},
    ),
}
"""Public function -> a right call of it."""

FUNCTIONS = sorted(name for name in vars(gpusim)["_HOMES"] if inspect.isfunction(getattr(gpusim, name)))
ARGUMENTS = [(name, key) for name, (_, named) in RIGHT.items() for key in named]

METHODS = {
    "plot": lambda run, value: run.plot(value),
    "write_trace": lambda run, value: run.write_trace(value),
    "write_trace format": lambda run, value: run.write_trace("one.trace", value),
    "write_trace replace": lambda run, value: run.write_trace("other.trace", replace=value),
    "to_dataframe": lambda run, value: run.to_dataframe(value),
    "metric": lambda run, value: gpusim.compare(run, run).metric(value),
    "replace problem": lambda _, value: gpusim.load(DATA).replace(problem=value),
    "replace kernel": lambda _, value: gpusim.load(DATA).replace(kernel=value),
    "replace machine": lambda _, value: gpusim.load(DATA).replace(machine=value),
}


@pytest.fixture(scope="module")
def run():
    return gpusim.simulate(DATA, stream="estimated")


@pytest.fixture(autouse=True)
def a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(call):
    """Whether a call is refused by gpusim's own error, in one line; no other error is let through."""
    try:
        call()
    except (BadInput, CannotRun) as error:
        told = str(error)
    else:
        return False
    assert told.isprintable()
    assert 0 < len(told) < 6000
    return True


def test_every_public_function_is_called_with_every_argument():
    assert sorted(RIGHT) == FUNCTIONS
    for name, (given, named) in RIGHT.items():
        parameters = inspect.signature(getattr(gpusim, name)).parameters.values()
        own = {one.name for one in parameters if one.kind is not inspect.Parameter.VAR_POSITIONAL}
        assert set(named) == own
        assert bool(given) == any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "read_run"])
def test_the_right_call_is_answered(name):
    given, named = RIGHT[name]

    assert not refused(lambda: getattr(gpusim, name)(*given, **named))


@pytest.mark.parametrize(("name", "key"), ARGUMENTS, ids=" ".join)
def test_a_wrong_argument_is_refused_by_gpusims_own_error(name, key):
    """Or it is none, and is answered."""
    given, named = RIGHT[name]
    wrong = [
        value for value in WRONG.values() if refused(lambda v=value: getattr(gpusim, name)(*given, **named | {key: v}))
    ]

    assert len(wrong) >= 7


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_side_is_refused(value):
    assert refused(lambda: gpusim.compare(value, DATA))
    assert refused(lambda: gpusim.compare(DATA, value))


@pytest.mark.parametrize("name", METHODS)
def test_a_wrong_argument_of_a_method_is_refused(run, name):
    assert sum(refused(lambda v=value: METHODS[name](run, v)) for value in WRONG.values()) >= 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gpusim.load(5), "scenario must be a file, the name of a shipped one, data, or a scenario, got 5"),
        (
            lambda: gpusim.load("gemm_ragged", None),
            'overrides must be a list of settings, such as ["kernel.stages=4"], got None',
        ),
        (
            lambda: gpusim.load("gemm_ragged", "kernel.stages=4"),
            "overrides must be a list of settings, such as [\"kernel.stages=4\"], got 'kernel.stages=4'",
        ),
        (lambda: gpusim.verify("gemm_ragged", seed=-1), f"seed must be an integer of 0 to {2**64 - 1}, got -1"),
        (lambda: gpusim.read_run(None), "directory must be a path, got None"),
        (lambda: gpusim.sweep(DATA, None), "over must be a table of keys and their values, or axes, got None"),
        (lambda: gpusim.sweep(DATA, {5: [3]}), "every key of over must be text, got 5"),
        (
            lambda: gpusim.tune(DATA, configurations=[]),
            'configurations must be tables of settings, such as [{"kernel.stages": 3}], got []',
        ),
        (lambda: gpusim.simulate(DATA, exact=1), "exact must be True, False or None, got 1"),
        (
            lambda: gpusim.compare(5, 6),
            "a side must be a run directory, a run, a result, or what gpusim.load takes, got 5",
        ),
    ],
    ids=range(10),
)
def test_the_message_names_the_argument_what_is_allowed_and_what_was_found(call, message):
    with pytest.raises(BadInput) as refusal:
        call()

    assert str(refusal.value) == message


def test_numbers_of_numpy_are_numbers():
    problem = {"kind": "gemm", "m": np.int64(64), "n": np.int32(64), "k": np.uint8(64), "alpha": np.float32(0.5)}
    kernel = {"threadblock": np.array([64, 64, 32]), "warp": (32, 32, np.int8(32))}
    scenario = gpusim.load({"machine": "h200", "problem": problem, "kernel": kernel})
    lone = gpusim.describe_layout("row_major", np.int64(16), np.int64(64), np.int32(64), base=np.int64(128))

    assert (scenario.problem.m, type(scenario.problem.m), scenario.problem.alpha) == (64, int, 0.5)
    assert json.loads(lone.to_json())["base"] == 128
    assert gpusim.sweep(DATA, {"kernel.stages": np.arange(3, 5)}, None, np.int64(1)).refused == 0
    assert gpusim.verify(DATA, seed=np.int64(3), reference_check=np.bool_(0)).seed == 3
    with pytest.raises(BadInput, match=r"m must be an integer, got 64\.0"):
        gpusim.load({**DATA, "problem": {**DATA["problem"], "m": np.float64(64)}})


def test_a_machine_may_be_a_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes((Path(gpusim.__file__).parent / "machine" / "a100.toml").read_bytes())

    assert gpusim.load_machine(path).sms == gpusim.load_machine(str(path)).sms == gpusim.load_machine("a100").sms
    assert gpusim.load({**DATA, "machine": path}).machine == str(path)


def test_a_seed_that_was_drawn_is_in_the_answer():
    drawn = gpusim.verify(DATA, seed=None)

    assert gpusim.verify(DATA, seed=drawn.seed) == drawn
    assert gpusim.verify(DATA, seed=None).seed != drawn.seed


def test_answers_can_be_put_into_sets(run):
    answers = [
        run,
        run.result(),
        gpusim.load(DATA),
        gpusim.load_machine("h200"),
        gpusim.verify(DATA),
        gpusim.compare(run, run),
        gpusim.explain(run),
        gpusim.describe_layout("crosswise", 16, 64, 64, accesses=ACCESSES),
        gpusim.sweep(DATA, SETTINGS, jobs=1, stream="estimated"),
        gpusim.tune(DATA, jobs=1, stream="estimated", configurations=[{"kernel.stages": 3}]),
    ]

    assert len({*answers, *answers}) == len(answers)
    assert hash(gpusim.simulate(DATA, stream="estimated").timeline) is not None
