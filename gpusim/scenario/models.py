"""The common parts of every scenario file: the frozen tables of problems and kernels, and the types of their values."""

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from gpusim.element_types import MMA_SHAPES, OUTPUTS, Element


@dataclass(frozen=True, slots=True)
class Rule:
    """Marks a list-valued key with a text that says what it allows."""

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


class Scenario(Table, ABC):
    """One question: a problem, a kernel of its kind, and a machine."""

    machine: StrictStr = Field(description="A machine file that ships with gpusim, or the path of one.")

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
