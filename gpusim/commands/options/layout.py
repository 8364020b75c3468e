"""Declares what ``gpusim layout`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gpusim.commands.options.fields import MOST_NUMBER, ForceOption, JsonOption


def _access(metavar: str, words: str) -> Any:
    return typer.Option(metavar=metavar, help=f"{words} Repeatable.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutOptions:
    """Map a shared-memory layout to banks."""

    spec: Annotated[
        str,
        typer.Argument(
            metavar="SPEC",
            help="crosswise, row_major, padded<8>, 'Swizzle<3,3,3>', 'GMMA::Layout_K_SW128_Atom<f16>', or a layout as "
            "CuTe prints it: 'Sw<3,3,3> o _0 o (_8,_64):(_64,_1)'.",
        ),
    ] = "row_major"
    bits: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_NUMBER, help="Bits of one element.  [default: what SPEC states, or 16]"),
    ] = None
    tile: Annotated[
        str | None,
        typer.Option(metavar="CxS", help="Contiguous x strided elements.  [default: what SPEC states, or 64x128]"),
    ] = None
    stages: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_NUMBER, help="Slots of the shared-memory ring.  [default: what SPEC states, or 1]"
        ),
    ] = None
    base: Annotated[
        int, typer.Option(min=0, max=MOST_NUMBER, metavar="BYTES", help="Address of the tile in shared memory.")
    ] = 0
    store: Annotated[tuple[str, ...], _access("WIDTH[@C:S]", "Count a store by rows: 16B, 16B@0:32.")] = ()
    load: Annotated[tuple[str, ...], _access("WIDTH[@C:S]", "Count a load by rows: 16B, 4B@0:32.")] = ()
    cp_async: Annotated[
        tuple[str, ...],
        _access("WIDTH[.cg:LEADING][@C:S]", "Count a cp.async by rows; with rows of global memory: 16B.cg:4096."),
    ] = ()
    ldmatrix: Annotated[tuple[str, ...], _access("xN[.trans][@C:S]", "Count an ldmatrix: x4, x4@16:64.")] = ()
    stmatrix: Annotated[tuple[str, ...], _access("xN[.trans][@C:S]", "Count an stmatrix: x4, x2@0:16.")] = ()
    lds: Annotated[
        tuple[str, ...],
        _access("FRAGMENT[@C:S]", "Count the loads of an MMA fragment: m16n8k8.tf32.a, m16n8k16.f16.b.mn."),
    ] = ()
    sts: Annotated[
        tuple[str, ...], _access("FRAGMENT[@C:S]", "Count the stores of an MMA fragment: m16n8k16.f16.c.")
    ] = ()
    copy_from: Annotated[
        tuple[str, ...],
        _access(
            "TILEDCOPY",
            "Count a CuTe TiledCopy that reads the tile: its print, 'ATOM, THREADS, VALUES' or 'ATOM, MMA.A 2x2'.",
        ),
    ] = ()
    copy_to: Annotated[tuple[str, ...], _access("TILEDCOPY", "Count a CuTe TiledCopy that writes the tile.")] = ()
    access: Annotated[
        tuple[str, ...],
        _access("WIDTH@C:S,...", "Count an access lane by lane, or by expressions: 16B@lane%8*8:lane/8."),
    ] = ()
    search: Annotated[
        bool, typer.Option("--search", help="Find a swizzle or a padding without conflicts for these accesses.")
    ] = False
    png: Annotated[
        Path | None, typer.Option("--png", "--picture", help="Draw the bank map to this .png, .svg or .pdf.")
    ] = None
    force: ForceOption = False
    as_json: JsonOption = False

    @property
    def accesses(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a kind of access (``gpusim.layout.patterns.access_kinds``) and its argument, kind by kind."""
        arguments = {
            "store": self.store,
            "load": self.load,
            "cp-async": self.cp_async,
            "ldmatrix": self.ldmatrix,
            "stmatrix": self.stmatrix,
            "lds": self.lds,
            "sts": self.sts,
            "copy-from": self.copy_from,
            "copy-to": self.copy_to,
            "access": self.access,
        }
        return tuple((kind, argument) for kind, of_kind in arguments.items() for argument in of_kind)
