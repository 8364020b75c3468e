"""The printed answer about a kernel of one's own: its lines, and what is left out where nothing is known or done."""

import io
from dataclasses import replace

from problems.own_answers import LOAD, MATH, own_answer

from gpusim.report.own.tables import kernel_verdict, largest, print_kernel, reasons_of
from gpusim.results.kernel_result import ExecutedData


def printed(result):
    out = io.StringIO()
    print_kernel(result, "mine", out)
    return out.getvalue()


def test_the_whole_answer_is_printed():
    assert (
        printed(own_answer())
        == """\
mine: 2,000 cycles, 2.00 us on a100 (unvalidated); warps wait most for data from global memory, 75.0
% of their cycles

machine    a100 (figures: 3 measured)
kernel     k of k.cu
launch     4 x 1 x 1 = 4 CTAs of 32 x 1 x 1 threads, 0.01 waves on 4 SMs
occupancy  8 CTAs per SM, limited by shared memory: 16 registers per thread, 4,096 bytes of shared
           memory per CTA
cycles     2,000 elapsed, 100 active
trust      unvalidated: no time of an own kernel on this machine is compared with silicon
time       2.00 us at 1,000 MHz
of peak    DRAM 0 %, issue slots 1 %, shared memory 2 %
DRAM       4,000 bytes read, 0 written, 2 GB/s
shared     32 wavefronts, 4 without bank conflicts
global     64 sectors, 16 without unused bytes
data       steer no address and no branch: the answer holds for any data
executed   the slice that decides path and accesses, 12 warp instructions of 4 CTAs with 1 distinct
           path and 2 distinct lists of accesses; 0.50 s

Stalls, share of warp cycles (`gpusim stalls` says what each means)
reason                share   of the largest
────────────────────────────────────────────────────────────
long_scoreboard      75.0 %   ██████████████████████████████
wait                  8.0 %   ███▎
mio_throttle          6.0 %   ██▍
selected              6.0 %   ██▍
math_pipe_throttle    5.0 %   ██

Instructions by the cycles that warps are stalled before them
cycles    share   issues   SASS
─────────────────────────────────────────────────────────────────────────
   160   80.0 %        4   0x0020 FADD R2, R2, R2  (k.cu:4)
                             long_scoreboard 94 %, math_pipe_throttle 6 %
    16    8.0 %        4   0x0010 LDG.E R2, [R2.64]  (k.cu:3)
                             wait 100 %
    12    6.0 %        4   0x0030 STS [R0], R2  (k.cu:4)
                             mio_throttle 100 %

Shared memory, wavefronts by instruction
wavefronts   ideal   x ideal   issues   SASS
─────────────────────────────────────────────────────────────────────
        32       4      8.00        4   0x0030 STS [R0], R2  (k.cu:4)

Global memory, sectors by instruction
sectors   ideal   x ideal   issues   SASS
───────────────────────────────────────────────────────────────────────
     64      16      4.00        4   0x0010 LDG.E R2, [R2.64]  (k.cu:3)

race in shared memory: 0x0030 and 0x0040
"""
    )


def test_data_that_steer_are_said_to():
    data = ExecutedData(executed="all", data_steers=True, order_steers=False, programs=3, streams=4, seconds=0.5)

    out = printed(own_answer(data=data))

    assert "data       steer addresses or branches: the answer holds for these data" in out
    assert "executed   every instruction, 12 warp instructions" in out


def test_an_order_of_ctas_that_steers_is_said_to():
    data = ExecutedData(executed="all", data_steers=True, order_steers=True, programs=3, streams=4, seconds=0.5)

    assert "data       and the order of CTAs steer addresses or branches" in printed(own_answer(data=data))


def test_a_kernel_without_accesses_has_no_table_of_them():
    out = printed(own_answer(rows=(replace(MATH, source=""),)))

    assert "no wavefronts" in out
    assert "Shared memory, " not in out
    assert "Global memory, " not in out
    assert "0x0020 FADD R2, R2, R2\n" in out


def test_a_launch_that_never_waits_has_no_cause():
    assert kernel_verdict(own_answer(stalls={"selected": 12})) == "2,000 cycles, 2.00 us on a100 (unvalidated)"


def test_reasons_are_shares_of_the_stalled_cycles():
    assert reasons_of(LOAD) == "wait 100 %"
    assert reasons_of(replace(LOAD, stalls={"wait": 96, "drain": 4, "selected": 50})) == "wait 96 %"


def test_equal_instructions_are_in_the_order_of_the_text():
    result = own_answer(rows=(replace(LOAD, address=0x40), LOAD))

    assert [row.address for row in largest(result, lambda row: row.issues)] == [0x10, 0x40]
