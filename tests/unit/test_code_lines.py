"""What docs/code_lines.py counts as a line of code."""

import code_lines
import pytest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("# a comment\n\n", 0),
        ('"""One sentence."""\n\nimport ast  # why\n', 1),
        ('def f() -> str:\n    """\n    Two\n    lines.\n    """\n    return "x"\n', 2),
        ('LIMIT = 1\n"""What it limits."""\n', 1),
        ('TEXT = """\none\ntwo\n"""\n', 4),
        ("f(\n    1,\n\n    # not this\n    2,\n)\n", 4),
        ("x = 1; y = 2\n", 1),
    ],
    ids=["nothing", "comment", "module", "docstring", "constant's", "string", "call", "two statements"],
)
def test_a_line_counts_where_code_stands(text, expected):
    assert code_lines.code_lines(text) == expected


def test_the_command_adds_up_rooms(tmp_path, capsys):
    (tmp_path / "sim" / "deep").mkdir(parents=True)
    (tmp_path / "sim" / "sm.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "sim" / "deep" / "l1.py").write_text("c = 3\n")
    (tmp_path / "cli.py").write_text("d = 4\n")

    assert code_lines.main([str(tmp_path), "--by-room"]) == 0
    assert capsys.readouterr().out == "     3 sim\n     1 cli.py\n4\n"
    assert code_lines.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "4\n"


def test_a_room_is_left_out(tmp_path, capsys):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "bench.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "cli.py").write_text("d = 4\n")

    assert code_lines.main([str(tmp_path), "--without", "lab"]) == 0
    assert capsys.readouterr().out == "1\n"
    with pytest.raises(SystemExit):
        code_lines.main([str(tmp_path), "--without", "labs"])
