"""
The place of each element of an operand in shared memory, and the banks of a warp's addresses.

The interface is ``describe_layout`` and ``search_layout``, which answer for a named layout and named accesses;
``find_conflict_free`` for accesses made of arrays; ``access_wavefronts`` and ``conflict_groups`` for bare addresses;
``shared_layout`` and CuTe's ``Layout`` and ``Swizzle``. The room never knows which lane of a kernel makes an access, or
when.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "LaneAccess": "accesses",
    "Layout": "cute",
    "Swizzle": "cute",
    "access_ideal": "banks",
    "access_kinds": "patterns",
    "access_wavefronts": "banks",
    "conflict_groups": "banks",
    "describe_layout": "bank_map",
    "find_conflict_free": "search",
    "one_instruction": "accesses",
    "parse_access": "patterns",
    "parse_layout": "printed",
    "parse_swizzle": "printed",
    "render_address_bits": "address_bits",
    "render_search": "search_report",
    "render_text": "bank_map",
    "search_layout": "search_report",
    "shared_layout": "named",
    "tile_layout": "bank_map",
}
"""
Public name -> the module of this room that defines it. A module is imported when a name of it is first used.

``__init__.pyi`` says the same to type checkers; a test compares both.
"""

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
