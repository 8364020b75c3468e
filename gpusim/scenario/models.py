"""The common parts of every scenario file: the frozen tables of problems and kernels, and the types of their values."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, StrictStr

from gpusim.arguments import plain_table, refusal
from gpusim.element_types import MMA_SHAPES, OUTPUTS, Element, element_bits
from gpusim.errors import BadInput


@dataclass(frozen=True, slots=True)
class Rule:
    """Marks a list-valued key with a description of its allowed values."""

    text: str


Extent: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Offset: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Triple: TypeAlias = Annotated[tuple[Extent, Extent, Extent], Rule("three integers of at least 1")]
Pair: TypeAlias = Annotated[tuple[Extent, Extent], Rule("two integers of at least 1")]
Offsets: TypeAlias = Annotated[tuple[Offset, Offset], Rule("two integers of at least 0")]
Scale: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Alignment: TypeAlias = Annotated[int, Field(strict=True)]
MatrixLayout: TypeAlias = Literal["row", "column"]
SplitK: TypeAlias = Literal["serial", "parallel"]


def supported(*values: object) -> dict[str, Any]:
    """
    Return a schema note that lists which documented values of a key work today. ``scenario.checks`` refuses the others.
    """
    return {"supported": [list(value) if isinstance(value, tuple) else value for value in values]}


def values_of_types(bits: Container[int]) -> dict[str, list[object]]:
    """Return the allowed values of the keys that depend on the operands' type, given the allowed element widths."""
    types = [types for types in MMA_SHAPES if element_bits(types[0]) in bits]
    return {
        "problem.dtype.ab": list(dict.fromkeys(ab for ab, _ in types)),
        "problem.dtype.accumulator": list(dict.fromkeys(accumulator for _, accumulator in types)),
        "problem.dtype.output": list(dict.fromkeys(output for one in types for output in OUTPUTS[one])),
        "kernel.instruction": list(dict.fromkeys(shape for one in types for shape in MMA_SHAPES[one])),
    }


class Table(BaseModel):
    """A table of a scenario file. It allows no unknown keys and cannot be changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DTypes(Table):
    """Element types of both operands, of the accumulator, and of the output and the source tensor."""

    ab: Element = Field(
        "f16",
        description="Element type of both operands.",
        json_schema_extra=supported(*dict.fromkeys(ab for ab, _ in MMA_SHAPES)),
    )
    accumulator: Element = Field(
        "f32",
        description="Element type of the accumulator: f32 or f16 for f16; f32 for bf16 and tf32; s32 for integers.",
        json_schema_extra=supported(*dict.fromkeys(accumulator for _, accumulator in MMA_SHAPES)),
    )
    output: Element = Field(
        "f32",
        description="Element type of the source and output tensors.",
        json_schema_extra=supported(*dict.fromkeys(output for outputs in OUTPUTS.values() for output in outputs)),
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """
    The origin of a scenario's values. All readings compare equal, so scenarios of equal content are equal.

    Attributes:
        name: Stem of the file, or name of the kernel; empty for plain data.
        reread: Reads plain data as a scenario of the same kind, under a name.
    """

    name: str = field(compare=False)
    reread: Callable[[dict[str, Any], str], Any] = field(compare=False)


MACHINE_TEXT: Final = (
    "A machine that ships with gpusim, or the path of a machine file; with other values of some of its figures: "
    '"h200 with sms = 66, l2.bytes = 1048576".'
)
"""Description of the allowed values of a scenario's machine."""


class Scenario(Table, ABC):
    """One question: a problem, a kernel of its kind, and a machine."""

    machine: StrictStr = Field(description=MACHINE_TEXT)
    _reading: Reading | None = PrivateAttr(None)

    @property
    def name(self) -> str:
        """Stem of the file, or name of the kernel, that the scenario was read from; empty for one made from data."""
        return "" if self._reading is None else self._reading.name

    def read_as(self, reading: Reading) -> None:
        """Record how the scenario was read; its reader calls this once."""
        self._reading = reading

    def written(self) -> dict[str, Any]:
        """Return the scenario as plain data with the keys that were given, and no default."""
        return self.model_dump(exclude_unset=True)

    def replace(
        self,
        *,
        problem: Mapping[str, Any] | None = None,
        kernel: Mapping[str, Any] | None = None,
        machine: str | Path | None = None,
    ) -> Self:
        """
        Return a scenario with some keys changed, validated as a file would be.

        Defaults and derived values follow the new keys.

        Args:
            problem: Keys of the ``[problem]`` table; the kind stays. A table within it is replaced whole.
            kernel: Keys of the ``[kernel]`` table.
            machine: Name of a shipped machine, or path of a machine file relative to the working directory; overridden
                figures may follow, as in "h200 with sms = 66".

        Raises:
            BadInput: A key is unknown, or a check does not hold.

        >>> import gpusim
        >>> gpusim.load("gemm_ragged").replace(kernel={"stages": 4}).resolved()["kernel"]["stages"]
        4
        """
        if self._reading is None:
            raise BadInput("a scenario must be read, from a file or from data, before it can be changed")
        data = self.written()
        for table, keys in (("problem", problem), ("kernel", kernel)):
            if keys is not None and not isinstance(keys, Mapping):
                raise refusal(table, "a table of keys", keys)
            data[table] = {**data.get(table, {}), **plain_table(table, keys or {})}
        if machine is not None:
            data |= plain_table("scenario", {"machine": machine})
        changed: Self = self._reading.reread(data, self.name)
        return changed

    @property
    def lacking_in_cutlass(self) -> str:
        """Why CUTLASS has no kernel like this one, in words; empty if it has one, or if nobody would expect one."""
        return ""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Kind of the problem, as in ``problem.kind``."""

    @abstractmethod
    def resolved(self) -> dict[str, Any]:
        """
        Return the scenario as plain data, with every default and derived value written out.

        A scenario read from the TOML of this data resolves to the same data.
        """

    def digest(self) -> str:
        """
        Return the SHA-256 of the canonical JSON of ``resolved()``, which is equal for files that ask the same question.
        """
        canonical = json.dumps(self.resolved(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def is_scenario(value: object) -> TypeGuard[Scenario]:
    """Return whether a value is a scenario, of any kind."""
    return isinstance(value, Scenario)
