"""TOML that users write is bounded before it is parsed."""

import time
import tomllib

import pytest

from gpusim.errors import BadInput
from gpusim.machine import load_machine
from gpusim.machine.text_file import MOST_BYTES, MOST_KEY_LENGTH, MOST_KEY_PARTS, parse_toml
from gpusim.scenario.read import read_text
from gpusim.scenario.text import read_override
from gpusim.verbs.sweeping.axes import axes_of_file

DEEP = ".".join(["a"] * 20_000)
"""A key of 40 kB, for which ``tomllib`` takes seconds and more than a gigabyte."""

REFUSED = f"a key has at most {MOST_KEY_PARTS} parts, not 20000"


@pytest.mark.parametrize(
    "text",
    [
        f"{DEEP} = 1",
        f"[{DEEP}]",
        f"[[{DEEP}]]",
        f"x = {{ {DEEP} = 1 }}",
        "[" + " . ".join(["'a b'"] * 20_000) + "]",
        ".".join(['"a.b"'] * 20_000) + " = 1",
    ],
    ids=["dotted", "table", "array of tables", "inline", "literal and spaced", "quoted"],
)
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(text):
    """At once: ten such texts take less than a second."""
    began = time.process_time()
    for _ in range(10):
        with pytest.raises(ValueError, match=REFUSED):
            parse_toml(text)

    assert time.process_time() - began < 1


def test_a_key_has_bounded_length():
    for key in ("k" * (MOST_KEY_LENGTH + 1), '"' + "k" * MOST_KEY_LENGTH + '"', "a." + "k" * MOST_KEY_LENGTH):
        with pytest.raises(
            ValueError, match=f"a key has at most {MOST_KEY_LENGTH} characters, not {len(key)} \\(at line 2"
        ):
            parse_toml(f"x = 1\n{key} = 1")


@pytest.mark.parametrize(
    "text",
    [
        f'title = "{DEEP}"',
        f"title = '{DEEP}'",
        f'title = """\n{DEEP} = 1\n"""',
        f"title = '''\n{DEEP} = 1\n'''",
        f"# {DEEP} = 1\nx = 1.5",
        f'x = [ "{DEEP}", 1.5e3, 2026-11-28T10:00:00.5 ] # {DEEP}',
        ".".join(["a"] * MOST_KEY_PARTS) + " = 1",
        'a = "x" # "\n' + ".".join(["b"] * MOST_KEY_PARTS) + ' = "y"',
        r'a = "quote \" and backslash \\"' + f"\nb = '{DEEP}'",
    ],
)
def test_what_is_no_key_may_be_long(text):
    assert parse_toml(text) == tomllib.loads(text)


def test_every_text_that_a_user_writes_is_bounded(tmp_path):
    """A scenario, a machine, axes and ``--set``, on either side of "=": the message names the file and the limit."""
    file = tmp_path / "deep.toml"
    file.write_text(f"{DEEP} = 1")
    for read in (read_text, lambda path: load_machine(str(path)), axes_of_file):
        with pytest.raises(BadInput, match=REFUSED) as refused:
            read(file)
        assert str(file) in str(refused.value)
    with pytest.raises(BadInput, match=f"--set must be KEY=VALUE with at most {MOST_KEY_PARTS} parts of KEY"):
        read_override(f"{DEEP}=1")

    assert read_override(f"problem.m={{ {DEEP} = 1 }}") == ("problem.m", f"{{ {DEEP} = 1 }}")


def test_a_file_has_bounded_size(tmp_path):
    file = tmp_path / "large.toml"
    file.write_text("#" * (MOST_BYTES + 1))
    for read in (read_text, lambda path: load_machine(str(path)), axes_of_file):
        with pytest.raises(BadInput, match=f"at most {MOST_BYTES} bytes"):
            read(file)
