"""The schema of each kind of problem: it lists the values that the reader takes, and no other."""

from functools import cache
from typing import Annotated, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from gpusim.element_types import MMA_SHAPES, OUTPUTS, element_bits
from gpusim.errors import BadInput
from gpusim.families.hopper.checks import TYPES
from gpusim.families.registry import kinds, scenario_of, scenario_schema
from gpusim.scenario.keys import ScenarioKey, keys_of, shared_keys
from gpusim.scenario.text import toml_value

KINDS = {kind.name: kind for kind in kinds()}

CONVOLUTION = {"n": 1, "h": 16, "w": 16, "c": 64, "k": 64, "r": 3, "s": 3}
PROBLEMS = {
    "gemm": {"m": 256, "n": 256, "k": 256},
    "conv2d_fprop": CONVOLUTION,
    "conv2d_dgrad": CONVOLUTION,
    "hopper_gemm": {"m": 256, "n": 256, "k": 256},
    "attention": {"batch": 1, "heads": 1, "queries": 128, "keys": 128, "head_dim": 64, "head_dim_v": 64},
}


@cache
def settings(kind):
    """Settings beside which a value may be accepted: types with their instructions and tiles, mainloops, machines."""
    if kind == "attention":
        return (
            *((), ("problem.dtype.ab=bf16",), ("kernel.mainloop=flash",), ("problem.mask=causal_top_left",)),
            ("problem.mask=causal_top_left", "kernel.mainloop=flash"),
        )
    if kind == "hopper_gemm":
        types = [
            f"problem.dtype={toml_value({'ab': ab, 'accumulator': accumulator, 'output': output})}"
            for ab, accumulators in TYPES.items()
            for accumulator, outputs in accumulators.items()
            for output in outputs
        ]
        schedules = ("non_specialized", "warp_specialized", "cooperative", "pingpong")
        return ((), *((f"kernel.schedule={name}", one) for name in schedules for one in types))
    found = [(), ("kernel.iterator=optimized",)]
    for (ab, accumulator), shapes in MMA_SHAPES.items():
        for instruction in shapes:
            for output in OUTPUTS[ab, accumulator]:
                deep = 512 // element_bits(ab)
                types = f"problem.dtype={toml_value({'ab': ab, 'accumulator': accumulator, 'output': output})}"
                tile = f"kernel.threadblock=[128, 128, {deep}]", f"kernel.warp=[64, 64, {deep}]"
                found.append((types, *tile, f"kernel.instruction={list(instruction)}"))
    found += [(*one, "problem.alignment_c=8") for one in found]
    return (*found, *(("kernel.mainloop=pipelined", *one) for one in found))


@cache
def is_read(kind, key, value):
    """Whether the reader takes a value of a key in any scenario of a kind."""
    data = {"machine": "h200", "problem": {"kind": kind, **PROBLEMS[kind]}}
    setting = f"{key}={value}"
    for beside in settings(kind):
        try:
            scenario_of(data, [*beside, setting])
        except BadInput:
            continue
        return True
    return False


def listed(schema, prefix=""):
    """Yield each key of a schema that lists its values, with them."""
    for name, of in schema["properties"].items():
        if "properties" in of:
            yield from listed(of, f"{prefix}{name}.")
        elif "enum" in of or "const" in of:
            yield prefix + name, of.get("enum", [of.get("const")])


def literals(model, prefix):
    """Yield each key of a model whose type is a list of values, with them."""
    for name, field in model.model_fields.items():
        hints = [field.annotation, *get_args(field.annotation)]
        if any(get_origin(hint) is Annotated for hint in hints):
            continue  # a word or a number
        for hint in hints:
            if get_origin(hint) is Literal:
                yield prefix + name, get_args(hint)
            elif isinstance(hint, type) and issubclass(hint, BaseModel):
                yield from literals(hint, f"{prefix}{name}.")


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_that_the_schema_lists_is_read_in_some_scenario_of_its_kind(kind):
    found = dict(listed(KINDS[kind].schema()))

    kernel = {"kernel.schedule"} if kind == "hopper_gemm" else {"kernel.mainloop", "kernel.instruction"}
    assert {"problem.kind", "problem.dtype.ab"} | kernel <= found.keys()
    for key, values in found.items():
        for value in values:
            assert is_read(kind, key, toml_value(value)), (kind, key, value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_of_a_model_that_is_read_is_listed_in_the_schema(kind):
    found = dict(listed(KINDS[kind].schema()))
    known = {**dict(literals(KINDS[kind].problem, "problem.")), **dict(literals(KINDS[kind].kernel, "kernel."))}

    assert known.keys() <= found.keys()
    for key, values in known.items():
        assert set(found[key]) == {value for value in values if is_read(kind, key, toml_value(value))}, key


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "hopper_gemm"])
def test_every_instruction_that_is_read_is_listed_in_the_schema(kind):
    found = dict(listed(KINDS[kind].schema()))["kernel.instruction"]
    known = {shape for shapes in MMA_SHAPES.values() for shape in shapes}

    assert {tuple(shape) for shape in found} == {
        shape for shape in known if is_read(kind, "kernel.instruction", toml_value(list(shape)))
    }


def test_types_and_mainloops_of_other_kinds_are_not_listed():
    found = dict(listed(KINDS["gemm"].schema()))

    assert not {"f64", "f32", "s32"} & set(found["problem.dtype.ab"])
    assert found["kernel.mainloop"] == ["multistage", "pipelined"]
    assert found["kernel.iterator"] == ["analytic"]
    assert dict(listed(KINDS["conv2d_fprop"].schema()))["kernel.iterator"] == ["analytic", "optimized"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_keys_of_a_kind_are_those_that_its_models_have(kind):
    keys = KINDS[kind].listed()
    top = {".".join(key.key.split(".")[:2]) for key in keys}
    models = (KINDS[kind].problem, "problem"), (KINDS[kind].kernel, "kernel")

    assert top == {"machine", *(f"{table}.{name}" for model, table in models for name in model.model_fields)}
    assert len({key.key for key in keys}) == len(keys)
    assert all(key.values and key.meaning for key in keys)
    assert [key.key for key in keys][:2] == ["machine", "problem.kind"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_without_a_default_that_must_be_given_is_said_to_be(kind):
    """A scenario of the required keys alone is read, and without any one of them it is not."""
    required = [key.key for key in KINDS[kind].listed() if key.required]
    whole = {"machine": "h200", "problem": {"kind": kind, **PROBLEMS[kind]}}

    assert {"machine", *(f"problem.{name}" for name in whole["problem"])} == set(required)
    scenario_of(whole)
    for name in whole["problem"]:
        with pytest.raises(BadInput):
            scenario_of(whole | {"problem": {key: value for key, value in whole["problem"].items() if key != name}})


@pytest.mark.parametrize("kind", KINDS)
def test_a_default_that_is_stated_may_be_written_out(kind):
    given = [f"{key.key}={key.default}" for key in KINDS[kind].listed() if key.default]
    data = {"machine": "h200", "problem": {"kind": kind, **PROBLEMS[kind]}}

    assert scenario_of(data, given).digest() == scenario_of(data).digest()


def test_the_schema_of_a_scenario_is_that_of_one_of_the_kinds():
    schema = scenario_schema()

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["oneOf"] == [{"$ref": f"#/$defs/{kind}"} for kind in KINDS]
    assert schema["$defs"] == {name: kind.schema() for name, kind in KINDS.items()}


def test_a_key_that_kinds_share_stands_once():
    one, other = (
        ScenarioKey("a", "integer", "", required=True, meaning="x"),
        ScenarioKey("b", "integer", "3", required=False, meaning="x"),
    )

    assert shared_keys({"p": (one, other), "q": (one,)}) == {("p", "q"): [one], ("p",): [other]}


def test_values_are_said_in_words():
    properties = {
        "size": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "Size."},
        "pair": {"type": "array", "prefixItems": [{"minimum": 0}] * 2, "default": [0, 0], "description": "Pair."},
        "word": {"enum": ["a", "b"], "default": "a", "description": "Word."},
        "maybe": {"type": "boolean", "default": None, "description": "Maybe."},
        "some": {"type": "array", "items": {"type": "integer", "minimum": 0}, "description": "Some."},
    }

    assert list(keys_of({"properties": properties, "required": ["word"]})) == [
        ScenarioKey("word", '"a" | "b"', "", required=True, meaning="Word."),
        ScenarioKey("size", "integer, at least 1", "", required=False, meaning="Size."),
        ScenarioKey("pair", "[integer, integer], each at least 0", "[0, 0]", required=False, meaning="Pair."),
        ScenarioKey("maybe", "true | false", "", required=False, meaning="Maybe."),
        ScenarioKey("some", "a list, each integer, at least 0", "", required=False, meaning="Some."),
    ]
