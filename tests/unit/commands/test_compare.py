"""``gpusim compare``: a profile beside a run."""

import json

NAME = "conv_9_k_tiles"


def test_a_profile_is_compared_with_a_run(gpusim, tmp_path):
    run = tmp_path / "run"
    assert gpusim("run", NAME, "--out", run, "--no-figures").code == 0
    report = tmp_path / "report.csv"
    report.write_text(
        '"ID","Kernel Name","Block Size","Grid Size","sm__cycles_elapsed.max","launch__registers_per_thread"\n'
        '"","","","","cycle",""\n"0","mine","(128, 1, 1)","(1, 1, 1)","20,000","99"\n'
    )

    answer = gpusim("compare", run, report, "--json")

    assert answer.code == 0
    rows = {row["source"]: row["measured"] for row in json.loads(answer.out)["rows"]}
    assert rows == {"sm__cycles_elapsed.max": 20000.0, "launch__registers_per_thread": 99.0}
    assert gpusim("compare", run, report).out.startswith("mine, grid 1 x 1 x 1, ")
