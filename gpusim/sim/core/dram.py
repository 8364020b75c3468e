"""
DRAM: channels of banks, the refresh that makes lines late, and the latency of a miss.

In silicon: HBM or GDDR stacks behind the L2. A channel transfers one access after the other; a bank is busy for a time
with each; a channel that writes has to turn its bus round.
Figures: ``dram_*`` of ``Figures``: bandwidth, channels, banks, latencies, refresh.
State: when each bank and each channel is free, the writes that a channel gathers, the generator of latencies.
Timing: an access begins when its bank and then its channel are free, in order of issue. Its data is there a latency
later, drawn from those measured, and later still while its part of DRAM is refreshed. Begins are thousandths of a
cycle, arrivals cycles.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> figures = figures_of(load_machine("h200"), 0, busy=False)._replace(dram_channels=1)
>>> dram = Dram(figures._replace(dram_bytes_per_kilocycle=64_000), share=1)
>>> [dram.occupy(bank, at=0, size=128, writes=0) for bank in (0, 1, 2)]
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
    PART_BITS,
    PERCENT,
    TENSOR_STRIDE,
    WAVE_STRIDE,
)
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from gpusim.sim.figures import Figures


def hashed(number: int) -> int:
    """
    Return a hash of a number, spread as if at random.

    The bits above those that a product has room for tell tensors and waves apart, and enter in the second turn: equal
    lines of two tensors are no likelier to have one hash than others.
    """
    mixed = (number & HASHED_BITS) * HASH
    mixed = ((mixed ^ mixed >> HASH_SHIFT ^ number >> HASHED_WIDTH) & HASHED_BITS) * HASH
    return mixed >> HASH_SHIFT


class Dram:
    """DRAM of a chip, or of a part of one; ``read_bytes`` counts what the whole chip reads."""

    def __init__(self, figures: "Figures", share: int) -> None:
        """
        Build channels and banks.

        A part of the chip has a part of the channels, a whole number of them. Where rounding gives it too many or too
        few, their banks are busy for as much longer or shorter.

        Args:
            figures: Those of the machine.
            share: SMs that each simulated one stands for.
        """
        self.share, self.rate = share, figures.dram_bytes_per_kilocycle
        self.channels = max(1, (figures.dram_channels + share // 2) // share)
        self.banks = self.channels * figures.dram_banks
        self.bank_busy = figures.dram_bank_busy * self.channels * share // figures.dram_channels
        self.least, self.median = figures.dram_least, figures.dram_latency
        self.late, self.later, self.most = figures.dram_late, figures.dram_later, figures.dram_most
        self.on_time, self.refresh, self.period = (
            figures.dram_on_time,
            figures.dram_late_cycles,
            figures.dram_late_period,
        )
        self.region_lines = figures.dram_late_lines
        self.part_masks, self.part_bits = array("q", figures.dram_late_masks), len(figures.dram_late_masks)
        self.write_percent, self.most_gathered = figures.dram_write_percent, figures.dram_gathered
        self.gathering = self.transfer_time(self.most_gathered * self.write_percent // PERCENT)
        self.turnaround = self.transfer_time(figures.dram_lost)
        self.longest_wait = self.transfer_time(figures.dram_meanwhile)
        self.bank_free, self.channel_free = zeros(self.banks), zeros(self.channels)
        self.gathered, self.gathered_since = zeros(self.channels), zeros(self.channels)
        self.draw, self.unnumbered, self.read_bytes = 0, 0, 0

    def transfer_time(self, size: int) -> int:
        """Return the time for which a channel transfers some bytes, in thousandths of a cycle."""
        return size * self.share * self.channels * MILLI * MILLI // self.rate

    def bank_of(self, line: int) -> int:
        """Return the bank of a line: a hash spreads lines as if at random, whatever their stride (D6)."""
        return hashed(line) % self.banks

    def next_bank(self) -> int:
        """Return the bank of a line whose number is not known: each bank in turn."""
        self.unnumbered += 1
        return self.unnumbered % self.banks

    def free_at(self, bank: int) -> int:
        """Return when a bank and its channel are both free, in thousandths of a cycle."""
        return max(self.bank_free[bank], self.channel_free[bank % self.channels])

    def occupy(self, bank: int, at: int, size: int, writes: int) -> int:
        """
        Let a bank serve an access and its channel transfer it, each in order of issue (D6).

        Parts of a line take their part of the bank's time: they come with others of its row. A channel gathers writes
        before it turns round for them. Reads wait for both turns where it has gathered as many as it writes at a time,
        or where the first write has waited for too long.

        Args:
            bank: The bank.
            at: Cycle of the issue.
            size: Bytes.
            writes: 1 for a write.

        Returns:
            When the transfer begins, in thousandths of a cycle.
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
        """Read some bytes for each SM that the simulated one stands for; return when that begins, in thousandths."""
        self.read_bytes += size * self.share
        return self.occupy(bank, issued, size, writes=0)

    def read(self, line: int, bank: int, start: int, size: int, issued: int) -> int:
        """
        Read bytes of a line; return the cycle at which they reach an SM.

        Args:
            line: Number of the line, whose part of DRAM may be in refresh.
            bank: Its bank.
            start: When the L2 asks for it, in thousandths of a cycle.
            size: Bytes.
            issued: Cycle of the issue, in whose order accesses are served.
        """
        return self.arrival(line, max(start, self.transfer(bank, issued, size)) // MILLI)

    def read_unnumbered(self, start: int, size: int, issued: int) -> int:
        """Read bytes of a line whose number is not known, of a region of its own; return as ``read`` does."""
        bank = self.next_bank()
        return self.read(self.unnumbered * self.region_lines, bank, start, size, issued)

    def write_line(self, issued: int) -> int:
        """Write a line; return when there is room among the writes that its channel gathers, in thousandths."""
        begin = self.occupy(self.next_bank(), issued, SECTORS_PER_LINE * SECTOR_BYTES, writes=1)
        return begin - self.gathering if self.most_gathered else 0

    def arrival(self, line: int, at: int) -> int:
        """
        Return the cycle at which a line that is read from a cycle on reaches its SM, or one on the side of its home.

        Where it is known which lines a refresh delays, each read takes a latency of its own, drawn from those on time
        about their median, and what is left of its part's refresh. Elsewhere it is drawn from the distribution of all.
        """
        self.draw = (self.draw * MULTIPLIER + INCREMENT) % MODULUS
        draw = self.draw * MILLI // MODULUS
        if self.period:
            return at + self.least + 2 * (self.on_time - self.least) * draw // MILLI + self.refresh_left(line, at)
        return at + self.quantile(draw)

    def refresh_left(self, line: int, at: int) -> int:
        """
        Return the cycles until the part of DRAM that holds a line answers again (D6).

        Parities of some bits of its number say which of its region's parts holds a line. Each part is refreshed once in
        a period, at a phase of its own.
        """
        tensor, own = line % WAVE_STRIDE // TENSOR_STRIDE, line % TENSOR_STRIDE
        part = own // self.region_lines
        for bit in range(self.part_bits):
            part = part << 1 | parity(own & self.part_masks[bit])
        return max(0, self.refresh - (at + hashed(tensor << PART_BITS | part)) % self.period)

    def quantile(self, draw: int) -> int:
        """Return the latency that as many of a thousand misses have at most: measured at five places."""
        if draw < 500:
            return self.least + (self.median - self.least) * draw // 500
        if draw < 900:
            return self.median + (self.late - self.median) * (draw - 500) // 400
        if draw < 980:
            return self.late + (self.later - self.late) * (draw - 900) // 80
        return self.later + (self.most - self.later) * (draw - 980) // 20
