"""The explanation of a kernel of one's own, sentence by sentence."""

from problems.own_answers import LOAD, MATH, STORE, own_answer

from gpusim.report.own.explanation import explain_kernel

SENTENCES = """
long_scoreboard: warps wait 75.0 % of their cycles for data from global memory, 100 % of that before 0x0020 FADD R2,
R2, R2 (k.cu:4). Helps: more stages; more CTAs on an SM; data that stay in the L2.

wait: warps wait 8.0 % of their cycles for fixed-latency dependencies, 100 % of that before 0x0010 LDG.E R2, [R2.64]
(k.cu:3). Helps: fewer instructions that depend on the one before, such as address arithmetic; more warps.

mio_throttle: warps wait 6.0 % of their cycles for the queue to shared memory, 100 % of that before 0x0030 STS [R0], R2
(k.cu:4). Helps: fewer and wider accesses to shared memory; no bank conflicts.

math_pipe_throttle: warps wait 5.0 % of their cycles for math pipes, 100 % of that before 0x0020 FADD R2, R2, R2
(k.cu:4). Helps: nothing where the tensor core is busy all the time: that is the peak; else a larger instruction.

Occupancy: an SM holds 8 CTAs, limited by shared memory.

Waves: 0.01, so that CTAs take 4 SMs and leave places free.

0x0030 STS [R0], R2 (k.cu:4): 32 wavefronts, 8.0 times as many as needed; neighbouring lanes are 32 bytes apart.

0x0030 STS [R0], R2: lanes 0 to 7 access 8 words of bank 0.

0x0010 LDG.E R2, [R2.64] (k.cu:3): 64 sectors, 4.0 times as many as needed; neighbouring lanes are 16 bytes apart.

Sectors are fewest if neighbouring lanes access neighbouring elements.

race in shared memory: 0x0030 and 0x0040
"""


def test_every_cause_is_a_sentence():
    expected = [" ".join(one.split()) for one in SENTENCES.split("\n\n")]

    assert list(explain_kernel(own_answer()).sentences) == expected


def test_instructions_with_more_than_needed_are_told_apart():
    found = explain_kernel(own_answer())

    assert (found.conflicting, found.scattered) == ((STORE,), (LOAD,))
    assert [wait.places[0] for wait in found.waits] == [MATH, LOAD, STORE, MATH]


def test_a_launch_of_several_waves_says_how_full_the_last_is():
    found = explain_kernel(own_answer(waves=2.25, rows=(), conflicts=(), findings=(), stalls={"selected": 1}))

    assert found.sentences[1] == "Waves: the last of 2.25 fills 25 % of the SMs' places."
    assert len(found.sentences) == 2


def test_it_is_plain_data():
    assert explain_kernel(own_answer()).to_dict()["waits"][0]["reason"] == "long_scoreboard"
