"""Source lines of Triton's PTX: inline assembly keeps the line of its first statement."""

from types import SimpleNamespace

import pytest

from gpusim.python.triton_lines import HOOK_KEY, corrected_lines, inspect_stages, lines_corrected

MOVED = """\
\t.loc\t1 12 11                         // k.py:12:11
\t// begin inline asm
\t.loc\t1 12 11                         // k.py:12:11
\tmov.u32 %r1, 0x0;
\t.loc\t1 13 11                         // k.py:13:11
\tld.global.b32 { %r1 }, [ %rd1 + 0 ];

\t// end inline asm
\t.loc\t1 14 5                          // k.py:14:5
\tret;
"""
PLAIN = MOVED.replace("\t.loc\t1 13 11                         // k.py:13:11\n", "")


def test_a_load_has_the_line_that_its_assembly_begins_with():
    assert corrected_lines(MOVED) == PLAIN
    assert corrected_lines(MOVED + MOVED) == PLAIN + PLAIN


def test_assembly_without_lines_and_code_without_assembly_are_left_alone():
    for text in (PLAIN, "\t// begin inline asm\n\tmov.u32 %r1, 0x0;\n\t// end inline asm\n", "\tret;\n"):
        assert corrected_lines(text) == text


def test_the_hook_wraps_the_stage_that_makes_ptx():
    stages = {"ptx": lambda source, metadata: source + metadata, "cubin": str}

    assert inspect_stages() == (HOOK_KEY, HOOK_KEY)
    assert inspect_stages("backend", stages, "options", "language", 80) is None
    assert stages["ptx"](MOVED, "") == PLAIN
    assert stages["cubin"] is str


def test_triton_has_the_hook_within_a_block_alone():
    knobs = SimpleNamespace(add_stages_inspection_hook=None)

    with lines_corrected(knobs):
        assert knobs.add_stages_inspection_hook is inspect_stages

    assert knobs.add_stages_inspection_hook is None


@pytest.mark.parametrize("knobs", [SimpleNamespace(), SimpleNamespace(add_stages_inspection_hook=print)])
def test_a_version_without_hooks_and_a_hook_of_the_users_are_left_alone(knobs):
    before = dict(vars(knobs))

    with lines_corrected(knobs):
        assert vars(knobs) == before
