"""Reads one kernel's machine code, constants and resources from a cubin (an ELF file); decodes no instruction."""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpusim.errors import BadInput
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.units import WORD_BYTES

ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION, RELOCATION_WITH_ADDEND = struct.Struct("<QQ"), struct.Struct("<QQq")
MACHINE_CUDA = 190
SYMBOL_OBJECT = 1
MODULE_ALIGNMENT = 256
OS_ABI_WITHOUT_VERSION = 0x41
"""OS ABI of CUDA 13 cubins. They hold the architecture in bits 8 to 15 of the ELF flags, older ones in bits 0 to 7."""

EIATTR_PARAM_CBANK = 0x0A
EIATTR_FRAME_SIZE = 0x11
EIATTR_MIN_STACK_SIZE = 0x12
EIATTR_KPARAM_INFO = 0x17
EIATTR_REGCOUNT = 0x2F
EIATTR_NUM_BARRIERS = 0x4C
"""Attributes of .nv.info, as nvdisasm names them."""

BARRIERS_FROM_BIT, BARRIERS_MASK = 20, 0x7F
"""Bits of the section flags of a kernel's code that hold its barriers. CUDA 13 has EIATTR_NUM_BARRIERS instead."""

MOST_REGISTERS, MOST_LOCAL_BYTES, MOST_BANK_BYTES = 255, 512 << 10, 64 << 10
"""Most registers of a thread, bytes of its local memory, and bytes of a constant bank. Source: CUDA C++ guide."""

MOST_BARRIERS = 16
"""Most barriers of a CTA. Source: PTX ISA, barrier.cta."""

MOST_MODULE_BYTES = 1 << 30
"""Most bytes of ``__device__`` variables that are kept."""

DAMAGES = (struct.error, KeyError, ValueError, StopIteration, IndexError, OverflowError)
"""What reading raises where a table of the file leads out of it."""

VALUES_INLINE = (1, 2, 3)
SIZED = 4
"""Formats of an attribute: a two-byte value in the record itself, or a size followed by that many bytes."""


@dataclass(frozen=True, slots=True)
class ModuleVariable:
    """
    A variable of a source outside of all functions.

    Attributes:
        name: Its symbol, as the compiler mangles it.
        bank: Constant bank that it lies in; None for global memory.
        at: Its first byte in the bank or in ``ModuleMemory.contents``.
        size: Bytes.
    """

    name: str
    bank: int | None
    at: int
    size: int


@dataclass(frozen=True, slots=True)
class ModuleMemory:
    """
    What a loader puts into memory for all kernels of a cubin.

    Attributes:
        contents: Global memory of the module as the source initialises it: ``__device__`` variables, tables, texts.
        variables: Its variables, and those in constant banks.
        addresses: Byte in ``contents`` whose address a loader writes to a word pair of a bank: by bank and byte.
        pointers: The same for word pairs in ``contents``, by their first byte.
    """

    contents: bytes = b""
    variables: tuple[ModuleVariable, ...] = ()
    addresses: Mapping[tuple[int, int], int] = field(default_factory=dict)
    pointers: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cubin:
    """
    One kernel of a cubin.

    Attributes:
        kernel: Name of the kernel.
        architecture: Compute capability of the target as 10 * major + minor.
        code: Machine code.
        registers: Registers of one thread.
        local_bytes: Stack of one thread in bytes: spills and local arrays.
        shared_bytes: Static shared memory in bytes. On sm_90 it begins with 1024 bytes that the system reserves.
            Dynamic shared memory follows it.
        constants: Image of constant bank 0. Its parameters are still zero.
        compiler_constants: Constant bank 2: numbers that the compiler put beside the code. Empty if there are none.
        parameters_at: Byte offset of the parameters in ``constants``.
        parameter_bytes: Size of the parameters.
        parameters: Offset and bytes of each parameter, in the order of the kernel's signature.
        banks: Contents of all other constant banks, by number: the compiler's numbers, and the user's constants.
        relocated: Words of these banks that a loader fills with the address of a variable or a function: bank and byte.
        functions: What each such word pair is the address of, if that is no variable of the cubin, by bank and byte.
        module: Variables of the cubin.
        stack_bytes: Stack of one thread with those of all functions that it calls, as far as the compiler knows them.
        barriers: Named barriers of a CTA, as the compiler allocates them: the highest number in use plus one, or all 16
            if a barrier number is in a register. An mbarrier does not count.
    """

    kernel: str
    architecture: int
    code: bytes
    registers: int
    local_bytes: int
    shared_bytes: int
    constants: bytes
    compiler_constants: bytes
    parameters_at: int
    parameter_bytes: int
    parameters: tuple[tuple[int, int], ...] = ()
    banks: Mapping[int, bytes] = field(default_factory=dict)
    relocated: frozenset[tuple[int, int]] = frozenset()
    functions: Mapping[tuple[int, int], str] = field(default_factory=dict)
    module: ModuleMemory = field(default_factory=ModuleMemory)
    stack_bytes: int = 0
    barriers: int = 0

    @property
    def code_bytes(self) -> int:
        """Size of the machine code, padding included."""
        return len(self.code)


class _Section(NamedTuple):
    name: str
    kind: int
    offset: int
    size: int
    number: int
    flags: int


class _Symbol(NamedTuple):
    name: str
    kind: int
    section: int
    value: int
    size: int


def read_cubin(data: bytes, kernel: str, where: str) -> Cubin:
    """
    Read one kernel of a cubin.

    Args:
        data: Bytes of the file.
        kernel: Name of the kernel in the symbol table.
        where: Name of the file in error messages.

    Raises:
        BadInput: The file is not a cubin, is damaged, or has no such kernel. The message lists the kernels it has.
    """
    try:
        cubin = _read(data, kernel, where)
    except DAMAGES as error:
        raise BadInput(damage(where)) from error
    for name, value, most in (
        ("registers", cubin.registers, MOST_REGISTERS),
        ("barriers", cubin.barriers, MOST_BARRIERS),
        ("bytes of stack", cubin.stack_bytes, MOST_LOCAL_BYTES),
        ("bytes of variables", len(cubin.module.contents), MOST_MODULE_BYTES),
        ("bytes of a constant bank", max(map(len, (cubin.constants, *cubin.banks.values()))), MOST_BANK_BYTES),
    ):
        if value > most:
            raise BadInput(f"{where}: {kernel} has {value} {name}; a kernel has at most {most}")
    if not cubin.code or len(cubin.code) % INSTRUCTION_BYTES:
        raise BadInput(f"{where}: {kernel} has {len(cubin.code)} bytes of code, which are no whole instructions")
    if any(cubin.parameters_at + offset + size > len(cubin.constants) for offset, size in cubin.parameters):
        raise BadInput(f"{where}: {kernel} has parameters behind its constant bank")
    return cubin


def damage(where: str) -> str:
    """Return what is said of a file whose tables cannot be followed."""
    return f"{where}: not a readable cubin: its tables are cut short or damaged"


def _read(data: bytes, kernel: str, where: str) -> Cubin:
    """Read one kernel of a cubin as its tables say."""
    flags, abi, sections = _file(data, where)
    kernels = _kernels(sections)
    if kernel not in kernels:
        raise BadInput(f"{where}: kernel must be one of {', '.join(kernels) or 'none'}, got {kernel!r}")
    symbols = _symbols(data, sections)
    symbol = [one.name for one in symbols].index(kernel)
    general = _attributes(_bytes(data, sections[".nv.info"]))
    own = _attributes(_bytes(data, sections[f".nv.info.{kernel}"]))
    constants = _bytes(data, sections[f".nv.constant0.{kernel}"])
    bank = next((payload for code, payload in own if code == EIATTR_PARAM_CBANK), None)
    offset, size = (len(constants), 0) if bank is None else struct.unpack_from("<HH", bank, 4)
    shared = sections.get(f".nv.shared.{kernel}")
    numbers = sections.get(f".nv.constant2.{kernel}")
    frame, stack = (_of_symbol(general, code, symbol) for code in (EIATTR_FRAME_SIZE, EIATTR_MIN_STACK_SIZE))
    module, functions = _module(data, sections, symbols, kernel)
    return Cubin(
        kernel=kernel,
        architecture=flags >> 8 & 0xFF if abi == OS_ABI_WITHOUT_VERSION else flags & 0xFF,
        code=_bytes(data, sections[f".text.{kernel}"]),
        registers=_of_symbol(general, EIATTR_REGCOUNT, symbol),
        local_bytes=frame,
        shared_bytes=shared.size if shared else 0,
        constants=constants,
        compiler_constants=_bytes(data, numbers) if numbers else b"",
        parameters_at=offset,
        parameter_bytes=size,
        parameters=_parameters(own),
        banks=_banks(data, sections, kernel),
        relocated=frozenset(_relocated(data, sections, kernel)),
        functions=functions,
        module=module,
        stack_bytes=max(frame, stack),
        barriers=_barriers(sections[f".text.{kernel}"], own),
    )


def _barriers(code: _Section, attributes: list[tuple[int, bytes]]) -> int:
    """Return the number of barriers by the kernel's attributes, or by the flags of its code if they have none."""
    of_flags = code.flags >> BARRIERS_FROM_BIT & BARRIERS_MASK
    return next((payload[0] for number, payload in attributes if number == EIATTR_NUM_BARRIERS), of_flags)


def _parameters(attributes: list[tuple[int, bytes]]) -> tuple[tuple[int, int], ...]:
    """Return offset and size of each parameter: an ordinal, an offset, and a word with the size from bit 18 on."""
    records = [struct.unpack("<IHHI", payload) for code, payload in attributes if code == EIATTR_KPARAM_INFO]
    return tuple((offset, word >> 18) for _, _, offset, word in sorted(records, key=lambda record: record[1]))


def _relocated(data: bytes, sections: dict[str, _Section], kernel: str) -> Iterator[tuple[int, int]]:
    """Yield bank and byte of each word that has a relocation; addresses have two words."""
    for name, section in sections.items():
        found = re.fullmatch(r"\.(rela?)\.nv\.constant(\d+)(\..*)?", name)
        if found and found[3] in (None, f".{kernel}"):
            entry = RELOCATION_WITH_ADDEND if found[1] == "rela" else RELOCATION
            content = _bytes(data, section)
            for offset, *_ in entry.iter_unpack(content[: len(content) // entry.size * entry.size]):
                yield from ((int(found[2]), offset + word) for word in (0, WORD_BYTES))


def _banks(data: bytes, sections: dict[str, _Section], kernel: str) -> dict[int, bytes]:
    """Return the constant banks of a kernel and those of the whole file, but for bank 0."""
    banks = _bank_sections(sections, kernel)
    return {banks[one.number]: _bytes(data, one) for one in sections.values() if banks.get(one.number)}


def kernel_names(data: bytes, where: str) -> list[str]:
    """
    Return the names of a cubin's kernels, sorted.

    Args:
        data: Bytes of the file.
        where: Name of the file in error messages.

    Raises:
        BadInput: The file is not a cubin, or is damaged.
    """
    try:
        return _kernels(_file(data, where)[2])
    except DAMAGES as error:
        raise BadInput(damage(where)) from error


@dataclass(frozen=True, slots=True)
class RelocatedSection:
    """
    A section of a cubin with the addresses that a loader writes into it.

    Attributes:
        data: Its bytes.
        targets: For each byte at which an address stands, the name of the section that it points into, and the byte
            there.
    """

    data: bytes
    targets: Mapping[int, tuple[str, int]]


def read_sections(data: bytes, names: Sequence[str], where: str) -> dict[str, RelocatedSection]:
    """
    Read sections of a cubin, those that it has.

    Args:
        data: Bytes of the file.
        names: Names of the sections.
        where: Name of the file in error messages.

    Returns:
        The sections by name.

    Raises:
        BadInput: The file is not a cubin, or its tables are damaged.
    """
    try:
        sections = _file(data, where)[2]
        ordered, symbols = list(sections), list(SYMBOL.iter_unpack(_bytes(data, sections[".symtab"])))
        found = {}
        for name in names:
            if name in sections:
                targets = dict(_targets(data, sections, name, ordered, symbols))
                found[name] = RelocatedSection(_bytes(data, sections[name]), targets)
    except DAMAGES as error:
        raise BadInput(damage(where)) from error
    return found


def _targets(
    data: bytes, sections: dict[str, _Section], name: str, ordered: list[str], symbols: list[tuple[int, ...]]
) -> Iterator[tuple[int, tuple[str, int]]]:
    for prefix, entry in ((".rel", RELOCATION), (".rela", RELOCATION_WITH_ADDEND)):
        if prefix + name in sections:
            for offset, info, *addend in entry.iter_unpack(_bytes(data, sections[prefix + name])):
                symbol = symbols[info >> 32]
                yield offset, (ordered[symbol[3]], symbol[4] + sum(addend))


def _file(data: bytes, where: str) -> tuple[int, int, dict[str, _Section]]:
    """Return the ELF header's flags and OS ABI, and the sections by name."""
    try:
        header = ELF_HEADER.unpack_from(data)
    except struct.error as error:
        raise BadInput(f"{where}: not a cubin: {len(data)} bytes are too few for an ELF header") from error
    identity, machine = header[0], header[2]
    if identity[:4] != b"\x7fELF" or machine != MACHINE_CUDA:
        raise BadInput(f"{where}: not a cubin: the ELF header must name machine {MACHINE_CUDA} (CUDA)")
    return header[7], identity[7], _sections(data, header[6], header[12], header[13])


def _kernels(sections: dict[str, _Section]) -> list[str]:
    """Return the names of code that has parameters' constants; functions that kernels call have none."""
    names = (name.removeprefix(".text.") for name in sections if name.startswith(".text."))
    return sorted(name for name in names if f".nv.constant0.{name}" in sections)


def _bytes(data: bytes, section: _Section) -> bytes:
    return data[section.offset : section.offset + section.size]


GLOBAL_SECTIONS = (".nv.global.init", ".nv.global")
WITHOUT_CONTENTS = 8
"""Kind of a section that has no bytes in the file (SHT_NOBITS)."""

ADDRESS_SIZE = 8
ADDRESSES_OF_64_BITS = (2, 4)
"""Relocations R_CUDA_64 and R_CUDA_G64: the address, or generic address, of a symbol plus an addend, in eight bytes."""


def _module(
    data: bytes, sections: dict[str, _Section], symbols: list[_Symbol], kernel: str
) -> tuple[ModuleMemory, dict[tuple[int, int], str]]:
    """Return the variables of a cubin, and the other symbols whose addresses a loader writes to constant banks."""
    places, banks = dict[int, int](), _bank_sections(sections, kernel)
    contents = b""
    for section in (sections[name] for name in GLOBAL_SECTIONS if name in sections):
        places[section.number] = len(contents)
        if section.size > MOST_MODULE_BYTES:
            raise BadInput(f"{kernel} has {section.size} bytes of variables; a cubin has at most {MOST_MODULE_BYTES}")
        initial = b"" if section.kind == WITHOUT_CONTENTS else _bytes(data, section)
        contents += initial.ljust(-(-section.size // MODULE_ALIGNMENT) * MODULE_ALIGNMENT, b"\0")
    variables = [
        ModuleVariable(one.name, banks.get(one.section), places.get(one.section, 0) + one.value, one.size)
        for one in symbols
        if one.kind == SYMBOL_OBJECT and one.size and one.section in (*places, *banks)
    ]
    addresses, pointers, functions = dict[tuple[int, int], int](), dict[int, int](), dict[tuple[int, int], str]()
    for section, at, symbol, addend in _relocations(data, sections):
        one = symbols[symbol]
        target = places.get(one.section, 0) + one.value + addend
        known = one.section in places and 0 <= target <= len(contents)
        if known and section.number in banks:
            addresses[banks[section.number], at] = target
        elif known and section.number in places and at + ADDRESS_SIZE <= section.size:
            pointers[places[section.number] + at] = target
        elif section.number in banks:
            functions[banks[section.number], at] = one.name
    return ModuleMemory(contents, tuple(variables), addresses, pointers), functions


def _bank_sections(sections: dict[str, _Section], kernel: str) -> dict[int, int]:
    """Return the constant banks of a kernel by the numbers of their sections."""
    found = {one.number: re.fullmatch(r"\.nv\.constant(\d+)(\..*)?", name) for name, one in sections.items()}
    return {number: int(one[1]) for number, one in found.items() if one and one[2] in (None, f".{kernel}")}


def _relocations(data: bytes, sections: dict[str, _Section]) -> Iterator[tuple[_Section, int, int, int]]:
    """Yield the section, place, symbol and addend of each word pair of data that a loader fills with an address."""
    for name, section in sections.items():
        found = re.fullmatch(r"\.(rela?)(\.nv\.(?:constant|global).*)", name)
        if found and found[2] in sections:
            entry, target = RELOCATION_WITH_ADDEND if found[1] == "rela" else RELOCATION, sections[found[2]]
            content = _bytes(data, section)
            for at, info, *addend in entry.iter_unpack(content[: len(content) // entry.size * entry.size]):
                here = _bytes(data, target)[at : at + ADDRESS_SIZE]
                if info & 0xFFFFFFFF in ADDRESSES_OF_64_BITS:
                    yield target, at, info >> 32, addend[0] if addend else int.from_bytes(here, "little")


def _sections(data: bytes, offset: int, count: int, names: int) -> dict[str, _Section]:
    headers = [SECTION_HEADER.unpack_from(data, offset + index * SECTION_HEADER.size) for index in range(count)]
    strings = headers[names]
    table = data[strings[4] : strings[4] + strings[5]]
    found = [_Section(_text(table, h[0]), h[1], h[4], h[5], number, h[2]) for number, h in enumerate(headers)]
    return {section.name: section for section in found}


def _symbols(data: bytes, sections: dict[str, _Section]) -> list[_Symbol]:
    strings = _bytes(data, sections[".strtab"])
    entries = SYMBOL.iter_unpack(_bytes(data, sections[".symtab"]))
    return [_Symbol(_text(strings, e[0]), e[1] & 15, e[3], e[4], e[5]) for e in entries]


def _text(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode()


def _attributes(info: bytes) -> list[tuple[int, bytes]]:
    return list(_records(info))


def _records(info: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(info):
        kind, code, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind in VALUES_INLINE:
            yield code, struct.pack("<H", value)
        elif kind == SIZED:
            yield code, info[at : at + value]
            at += value
        else:
            raise BadInput(f".nv.info: attribute {code:#x} has unknown format {kind}")


def _of_symbol(attributes: list[tuple[int, bytes]], code: int, symbol: int) -> int:
    """Return the value of an attribute for a symbol, or 0 if there is none."""
    pairs = (struct.unpack("<II", payload) for found, payload in attributes if found == code)
    return next((int(value) for index, value in pairs if index == symbol), 0)
