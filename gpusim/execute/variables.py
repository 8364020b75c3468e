"""Variables of a kernel's module by name, which the caller reads and sets: ``__constant__`` and ``__device__`` ones."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpusim.arrays import ByteArray
from gpusim.errors import BadInput
from gpusim.lower.sass.cubin import Cubin, ModuleVariable


class ModuleVariables(MutableMapping[str, ByteArray]):
    """
    The bytes of variables by name.

    A name may be a part that only one variable has, as compilers mangle the names of namespaces. A value that is set
    must have as many bytes as the variable. A value that is returned is a view of it.
    """

    def __init__(self, variables: Mapping[str, ModuleVariable], memory: Mapping[int | None, ByteArray]) -> None:
        """Take the variables, and the memory that they lie in by its constant bank, None for global memory."""
        self._variables, self._memory = variables, memory

    def __getitem__(self, name: str) -> ByteArray:
        """
        Return the bytes of a variable.

        Raises:
            BadInput: No variable, or more than one, has the name.
        """
        found = [name] if name in self._variables else [one for one in self._variables if str(name) in one]
        if len(found) != 1:
            raise BadInput(f"variable must be one of {', '.join(self._variables) or 'none'}, got {name!r}")
        one = self._variables[found[0]]
        return self._memory[one.bank][one.at : one.at + one.size]

    def __setitem__(self, name: str, value: npt.ArrayLike) -> None:
        """
        Set a variable to an array or number of as many bytes.

        Raises:
            BadInput: There is no such variable, or it has another number of bytes.
        """
        here, given = self[name], np.asarray(value)
        if given.dtype.hasobject or given.nbytes != len(here):
            raise BadInput(f"variable {name} has {len(here)} bytes, {given.dtype} of shape {given.shape} does not")
        here[:] = np.ascontiguousarray(given).reshape(-1).view(np.uint8)

    def __delitem__(self, name: str) -> None:
        """Refuse: a module keeps its variables."""
        raise BadInput(f"variable {name} cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._variables)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._variables)

    def memory(self, bank: int | None) -> bytes:
        """Return the contents of a bank, None for global memory, with what was set."""
        return self._memory[bank].tobytes()

    def keep(self, contents: ByteArray) -> None:
        """Take the contents of global memory after a launch."""
        self._memory[None][:] = contents


def variables_of(cubin: Cubin) -> tuple[ModuleVariables, ModuleVariables]:
    """Return the ``__constant__`` and the ``__device__`` variables of a kernel's module."""
    memory: dict[int | None, ByteArray] = {None: np.frombuffer(cubin.module.contents, np.uint8).copy()}
    memory |= {number: np.frombuffer(data, np.uint8).copy() for number, data in cubin.banks.items()}
    lying = [one for one in cubin.module.variables if one.at + one.size <= len(memory.get(one.bank, b""))]
    constant = {one.name: one for one in lying if one.bank is not None}
    device = {one.name: one for one in lying if one.bank is None}
    return ModuleVariables(constant, memory), ModuleVariables(device, memory)


def with_variables(cubin: Cubin, constants: ModuleVariables, variables: ModuleVariables) -> Cubin:
    """Return a kernel whose module has what was set."""
    banks = {number: constants.memory(number) for number in cubin.banks}
    return replace(cubin, banks=banks, module=replace(cubin.module, contents=variables.memory(None)))
