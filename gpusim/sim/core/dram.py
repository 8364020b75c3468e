"""
DRAM: channels of banks, bus turnaround, refresh, and the latency of a miss.

In silicon: HBM or GDDR behind the L2. A channel transfers one access after another. Each access occupies its bank for a
time. A channel that changes between reads and writes turns its bus around.
Figures: ``[dram.banks]``, ``[dram.turns]``, ``[dram.late]``; bandwidth and latencies are ``dram_*`` of ``Figures``.
State: the time at which each bank and each channel is free, the writes that a channel gathers, and the random generator
of latencies.
Timing: an access begins when its bank and its channel are free, in order of issue. Its data arrives a latency later,
drawn from the measured latencies, and later still during a refresh. Begins of transfers are thousandths of a cycle,
arrivals are cycles.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)
>>> dram = Dram(figures._replace(dram_bytes_per_kilocycle=64_000), share=1)
>>> banks = [turn * dram.channels for turn in range(3)]
>>> [dram.occupy(bank, at=0, size=128, writes=0) // dram.channels for bank in banks]
[0, 2000, 4000]
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.cache import parity
from gpusim.sim.core.constants import (
    HASH,
    HASH_SHIFT,
    HASHED_BITS,
    HASHED_WIDTH,
    INCREMENT,
    MILLI,
    MODULUS,
    MULTIPLIER,
    PERCENT,
    TENSOR_STRIDE,
    UNIT_BITS,
    WAVE_STRIDE,
)
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from gpusim.sim.figures import Figures


def hashed(number: int) -> int:
    """
    Return a pseudo-random hash of a number, for example of a line's number.

    The low 31 bits are hashed first, because the product must fit into 63 bits. The higher bits, which differ between
    tensors and between waves of CTAs, enter in the second round. So lines of two tensors with equal low bits collide no
    more often than any two lines.
    """
    mixed = (number & HASHED_BITS) * HASH
    mixed = ((mixed ^ mixed >> HASH_SHIFT ^ number >> HASHED_WIDTH) & HASHED_BITS) * HASH
    return mixed >> HASH_SHIFT


class Dram:
    """The DRAM of a chip, or a sample's part of it. ``read_bytes`` counts the reads of the whole chip."""

    def __init__(self, figures: "Figures", share: int) -> None:
        """
        Build channels and banks.

        A sample has its part of the channels, rounded to a whole number. The time for which an access occupies a bank
        is scaled to make up for the rounding.

        Args:
            figures: The machine's figures.
            share: SMs of the chip for each simulated SM.
        """
        banks, turns, late = figures.machine.dram.banks, figures.machine.dram.turns, figures.machine.dram.late
        self.share, self.rate = share, figures.dram_bytes_per_kilocycle
        channels, per_channel = (1, 1) if banks is None else (banks.channels, banks.per_channel)
        self.channels = max(1, (channels + share // 2) // share)
        self.banks = self.channels * per_channel
        self.bank_busy = figures.dram_bank_busy * self.channels * share // channels
        self.least, self.median = figures.dram_least, figures.dram_latency
        self.late, self.later, self.most = figures.dram_late, figures.dram_later, figures.dram_most
        self.on_time = figures.dram_on_time
        self.refresh, self.period = figures.dram_late_cycles, figures.dram_late_period
        self.region_lines = 0 if late is None else late.region_bytes // figures.machine.l2.line_bytes
        self.unit_masks = array("q", () if late is None else late.part_masks)
        self.unit_bits, self.most_gathered = len(self.unit_masks), figures.dram_gathered
        self.write_percent = PERCENT if turns is None else turns.write_percent
        self.gathering = self.transfer_time(self.most_gathered * self.write_percent // PERCENT)
        self.turnaround = self.transfer_time(0 if turns is None else turns.lost)
        self.longest_wait = self.transfer_time(0 if turns is None else turns.meanwhile)
        self.bank_free, self.channel_free = zeros(self.banks), zeros(self.channels)
        self.gathered, self.gathered_since = zeros(self.channels), zeros(self.channels)
        self.draw, self.unnumbered, self.read_bytes = 0, 0, 0

    def transfer_time(self, size: int) -> int:
        """Return the time that a channel takes to transfer ``size`` bytes, in thousandths of a cycle."""
        return size * self.share * self.channels * MILLI * MILLI // self.rate

    def bank_of(self, line: int) -> int:
        """Return the bank of a line: a hash spreads lines over banks at random, whatever their stride (D6)."""
        return hashed(line) % self.banks

    def next_bank(self) -> int:
        """Return a bank for a line whose number is not known; banks are used round robin."""
        self.unnumbered += 1
        return self.unnumbered % self.banks

    def free_at(self, bank: int) -> int:
        """Return the time at which a bank and its channel are both free, in thousandths of a cycle."""
        return max(self.bank_free[bank], self.channel_free[bank % self.channels])

    def occupy(self, bank: int, at: int, size: int, writes: int) -> int:
        """
        Occupy a bank with an access and its channel with the transfer, each in order of issue (D6).

        The bank is occupied in proportion to the bytes: accesses to other bytes of the same DRAM row are assumed to
        follow. A channel gathers writes before it turns its bus. If it has gathered ``most_gathered`` bytes of writes,
        or if the first of them has waited for ``longest_wait``, the next read waits for a bus turnaround in either
        direction.

        Args:
            bank: The bank.
            at: Cycle of the issue.
            size: Bytes.
            writes: 1 for a write, 0 for a read.

        Returns:
            The time at which the transfer begins, in thousandths of a cycle.
        """
        channel = bank % self.channels
        begin = max(at * MILLI, self.bank_free[bank])
        self.bank_free[bank] = begin + self.bank_busy * size // (SECTORS_PER_LINE * SECTOR_BYTES)
        begin = max(begin, self.channel_free[channel])
        if writes:
            if not self.gathered[channel]:
                self.gathered_since[channel] = begin
            self.gathered[channel] += size
            size = size * self.write_percent // PERCENT
        elif (
            size
            and self.gathered[channel]
            and (
                self.gathered[channel] >= self.most_gathered
                or begin - self.gathered_since[channel] >= self.longest_wait
            )
        ):
            self.gathered[channel] = 0
            begin += self.turnaround
        self.channel_free[channel] = begin + self.transfer_time(size)
        return begin

    def transfer(self, bank: int, issued: int, size: int) -> int:
        """Transfer a read of ``size`` bytes, and count it; return the time of its begin, in thousandths of a cycle."""
        self.read_bytes += size * self.share
        return self.occupy(bank, issued, size, writes=0)

    def read(self, line: int, bank: int, start: int, size: int, issued: int) -> int:
        """
        Read bytes of a line; return the cycle at which they reach an SM.

        Args:
            line: Number of the line, which decides whether the read meets a refresh.
            bank: The line's bank.
            start: Time at which the L2 requests the line, in thousandths of a cycle.
            size: Bytes.
            issued: Cycle of the issue; accesses are served in order of issue.
        """
        return self.arrival(line, max(start, self.transfer(bank, issued, size)) // MILLI)

    def read_unnumbered(self, start: int, size: int, issued: int) -> int:
        """Read bytes of a line without a known number, as a line of a new DRAM region; return as ``read``."""
        bank = self.next_bank()
        return self.read(self.unnumbered * self.region_lines, bank, start, size, issued)

    def write_line(self, issued: int, size: int) -> int:
        """
        Write ``size`` bytes of a line; return the time at which its channel can gather them, in thousandths of a cycle.
        """
        begin = self.occupy(self.next_bank(), issued, size, writes=1)
        return max(0, begin - self.gathering) if self.most_gathered else 0

    def arrival(self, line: int, at: int) -> int:
        """
        Return the cycle at which a line reaches an SM on the side of its home, if DRAM begins to read it at ``at``.

        If the machine's refresh is known, the latency is drawn uniformly from an interval around the median of reads
        that meet no refresh, and the rest of a refresh is added (``refresh_left``). Otherwise the latency is drawn from
        the latencies of all misses.
        """
        self.draw = (self.draw * MULTIPLIER + INCREMENT) % MODULUS
        draw = self.draw * MILLI // MODULUS
        if self.period:
            return at + self.least + 2 * (self.on_time - self.least) * draw // MILLI + self.refresh_left(line, at)
        return at + self.quantile(draw)

    def refresh_left(self, line: int, at: int) -> int:
        """
        Return the cycles until the refresh that delays a line is over; 0 if no refresh delays it (D6).

        DRAM is divided into regions of ``region_lines`` lines, and each region into refresh units. Each bit of a unit's
        number is the parity of the line's number AND one of ``unit_masks``. Each unit is refreshed once in a period, at
        a phase of its own.
        """
        tensor, own = line % WAVE_STRIDE // TENSOR_STRIDE, line % TENSOR_STRIDE
        unit = own // self.region_lines
        for bit in range(self.unit_bits):
            unit = unit << 1 | parity(own & self.unit_masks[bit])
        return max(0, self.refresh - (at + hashed(tensor << UNIT_BITS | unit)) % self.period)

    def quantile(self, draw: int) -> int:
        """Return the quantile of miss latency at ``draw`` per mille, interpolated between five measured quantiles."""
        if draw < 500:
            return self.least + (self.median - self.least) * draw // 500
        if draw < 900:
            return self.median + (self.late - self.median) * (draw - 500) // 400
        if draw < 980:
            return self.late + (self.later - self.late) * (draw - 900) // 80
        return self.later + (self.most - self.later) * (draw - 980) // 20
