"""Kanata logs, read back: a line for each warp and k tile."""

from gpusim.report.kanata import kanata_log, write_kanata


def replayed(log):
    """Instruction -> lane -> [stage, begin, end], following the log's commands."""
    header, start, *commands = log.splitlines()
    assert header == "Kanata\t0004"
    now, lines, retired = int(start.removeprefix("C=\t")), {}, []
    for command in commands:
        word, *arguments = command.split("\t")
        match word:
            case "C":
                assert int(arguments[0]) > 0
                now += int(arguments[0])
            case "I":
                assert int(arguments[0]) == len(lines)
                lines[int(arguments[0])] = {}
            case "S":
                assert int(arguments[0]) not in retired
                lines[int(arguments[0])][arguments[1]] = [arguments[2], now, None]
            case "E":
                lane = lines[int(arguments[0])][arguments[1]]
                assert lane[0] == arguments[2]
                lane[2] = now
            case "R":
                assert int(arguments[1]) == len(retired)
                retired.append(int(arguments[0]))
    assert sorted(retired) == sorted(lines)
    return lines


def test_kanata_has_a_line_for_each_warp_and_k_tile_with_its_four_stages(run, tmp_path):
    path = write_kanata(run.result, run.timeline, tmp_path / "trace.kanata")

    lines = replayed(path.read_text())

    assert len(lines) == 4 * 9
    row = run.result.pipeline[0]
    assert lines[0]["0"] == ["C", row.copy_issue, row.copy_done]
    assert lines[0]["1"] == ["W", row.wait_begin, row.wait_end]
    assert lines[0]["3"] == ["M", row.mma_begin, row.mma_end]
    assert all([stage[0] for stage in line.values()] == list("CWLM") for line in lines.values())
    assert all(begin < end for line in lines.values() for _, begin, end in line.values())


def test_a_kanata_log_is_the_same_text_twice(run):
    assert kanata_log(run.result, run.timeline) == kanata_log(run.result, run.timeline)
