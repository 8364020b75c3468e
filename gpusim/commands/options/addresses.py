"""Declares what ``gpusim addresses`` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options.fields import MOST_NUMBER, CutlassOption, FileArgument, JsonOption, SetOption


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressesOptions:
    """Print an address stream of a CTA."""

    file: FileArgument = None
    stream: Annotated[
        str | None,
        typer.Argument(
            metavar="STREAM",
            help="gmem_a, gmem_b, smem_store_a, smem_store_b, ldmatrix_a, ldmatrix_b, epilogue or events; of attention "
            "_q, _k, _p, _v for _a, _b; of hopper_gemm tma_a, tma_b, tma_c, tma_d, wgmma, mbarrier, stmatrix, "
            "scheduler, stages, tensor_maps or events.",
            show_default=False,
        ),
    ] = None
    cutlass: CutlassOption = None
    overrides: SetOption = ()
    ctaid: Annotated[str, typer.Option(metavar="X,Y,Z", help="blockIdx of the CTA. Trailing 0s may be left out.")] = (
        "0,0,0"
    )
    threads: Annotated[str | None, typer.Option(help="Only these threads, e.g. 0-31,64.")] = None
    k_tiles: Annotated[str | None, typer.Option(help="Only these k tiles, e.g. 0-2.")] = None
    thread: Annotated[
        int | None, typer.Option(min=0, max=MOST_NUMBER, help="The thread whose events are printed.  [default: 0]")
    ] = None
    as_json: JsonOption = False
