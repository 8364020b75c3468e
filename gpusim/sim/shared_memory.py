"""The MIO of one SM: a queue per SMSP, and the one data stage of the 32 banks that all of them share."""

from collections import deque

from gpusim.machine.spec import Machine


class SharedMemory:
    """
    Memory instructions leave their SMSP's queue in order, when the data stage can take their wavefronts.

    An instruction holds a queue entry until it leaves; an SMSP whose entries are full cannot issue another
    (mio_throttle). Between SMSPs the SM serves in order of issue: a slot that stays free ahead of a queued instruction
    is not given to another SMSP (D2). LDGSTS takes the data stage when it leaves the queue, not when its data arrives
    (D3). An entry is free from the cycle its instruction leaves, without the way to the address unit (D8). On
    T4 the rate of the SM is that of GA10x (D20).
    """

    def __init__(self, machine: Machine) -> None:
        self._mio = machine.mio
        self._spec = machine.shared
        self._smsp_free = [0] * machine.smsps
        self._return_free = [0] * machine.smsps
        self._sm_free = 0
        self._data_free = 0
        depth = machine.mio.queue_depth
        self._queues: list[deque[int]] = [deque([0] * depth, maxlen=depth) for _ in range(machine.smsps)]
        self.wavefronts = 0

    def entry_free(self, smsp: int) -> int:
        """Cycle at which the SMSP's queue has an entry for one more instruction."""
        return self._queues[smsp][0]

    def dispatch(self, smsp: int, at: int, wavefronts: int, interval: int = 0) -> int:
        """
        Put an instruction into the queue at ``at``.

        Args:
            wavefronts: Cycles' worth of the data stage; 0 for what does not go there.
            interval: Cycles the SMSP's address unit is taken, where that is more than for any instruction.

        Returns:
            Cycle it leaves the queue, with the data stage taken for ``wavefronts`` cycles from then.
        """
        leaves = max(at + 1, self._smsp_free[smsp], self._sm_free, self._data_free if wavefronts else 0)
        self._smsp_free[smsp] = leaves + max(self._mio.smsp_interval, interval)
        self._sm_free = leaves + self._mio.sm_interval
        if wavefronts:
            self._data_free = leaves + self.service(wavefronts)
            self.wavefronts += wavefronts
        self._queues[smsp].append(leaves)
        return leaves

    def service(self, wavefronts: int) -> int:
        """Cycles the data stage takes for so many wavefronts."""
        return -(-wavefronts // self._spec.wavefronts_per_cycle)

    def returned(self, smsp: int, leaves: int, wavefronts: int, size: int, latency: int) -> int:
        """
        When an lds or ldmatrix has its data in the registers, over the SMSP's return path.

        Args:
            leaves: As ``dispatch`` gave it: one cycle after the issue when nothing was in the way.
            size: Bytes returned to the registers of the warp.
            latency: Issue to dependent issue, of one wavefront with nothing in the way.

        Returns:
            Cycle at which a dependent instruction may issue.
        """
        landed = leaves - 1 + latency + self._spec.wavefront_latency * (wavefronts - 1)
        landed = max(landed, self._return_free[smsp] + -(-size // self._spec.smsp_return_bytes))
        self._return_free[smsp] = landed
        return landed
