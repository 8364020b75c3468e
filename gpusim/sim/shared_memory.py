"""Models the MIO of one SM: a queue per SMSP, and the data stage (the 32 banks) that all SMSPs share."""

from collections import deque

from gpusim.machine.spec import Machine


class SharedMemory:
    """
    The MIO queues and the data stage of shared memory.

    Memory instructions leave their SMSP's queue in order, when the data stage can accept their wavefronts. An
    instruction holds a queue entry until it leaves. An SMSP whose entries are all held cannot issue another memory
    instruction (mio_throttle).

    The SM serves its SMSPs in order of issue: an idle cycle before a queued instruction is not given to another SMSP
    (D2). LDGSTS occupies the data stage when it leaves the queue, not when its data arrives (D3). An entry is free from
    the cycle its instruction leaves the queue, without the time to the address unit (D8). On T4 the rate of the SM is
    that of GA10x (D20).

    Attributes:
        wavefronts: Wavefronts served so far.
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
        """Return the cycle from which the SMSP's queue has an entry for one more instruction."""
        return self._queues[smsp][0]

    def dispatch(self, smsp: int, at: int, wavefronts: int, interval: int = 0) -> int:
        """
        Queue an instruction.

        Args:
            smsp: Index of the SMSP.
            at: Cycle at which the instruction issues.
            wavefronts: Wavefronts that it needs in the data stage; 0 if it does not go there.
            interval: Cycles that it occupies the SMSP's address unit, if more than the machine's ``smsp_interval``.

        Returns:
            Cycle at which it leaves the queue and occupies the data stage for ``service(wavefronts)`` cycles.
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
        """Return the cycles that the data stage takes for ``wavefronts`` wavefronts."""
        return -(-wavefronts // self._spec.wavefronts_per_cycle)

    def returned(self, smsp: int, leaves: int, wavefronts: int, size: int, latency: int) -> int:
        """
        Move the data of an lds or ldmatrix over the SMSP's return path into the registers.

        Args:
            smsp: Index of the SMSP.
            leaves: Cycle at which the instruction left the queue (``dispatch``): without contention, one after its
                issue.
            wavefronts: Wavefronts of the access.
            size: Bytes returned to the registers of the warp.
            latency: Cycles from issue to dependent issue for one wavefront without contention.

        Returns:
            Cycle at which a dependent instruction may issue.
        """
        landed = leaves - 1 + latency + self._spec.wavefront_latency * (wavefronts - 1)
        landed = max(landed, self._return_free[smsp] + -(-size // self._spec.smsp_return_bytes))
        self._return_free[smsp] = landed
        return landed
