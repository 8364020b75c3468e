"""
Compiles the core of the simulator, where that is possible, for a wheel or in place.

``python hatch_build.py`` compiles it in place. hatchling calls ``CustomBuildHook`` for a wheel. Where Cython, a C
compiler or Python's headers are missing, or ``GPUSIM_PURE`` is set, the core is interpreted: the wheel is pure, and
nothing fails.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from gpusim.sim.core.source import (  # noqa: E402 - it lies beside
    FOLDER,
    core_text,
    core_types,
    named_integers,
    source_digest,
)

sys.path.remove(str(ROOT))

NAME = "_chip"
"""Module name of the compiled copy of all units: a name of its own, so that it does not hide ``chip.py``."""

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "nonecheck": False,
    "cdivision": True,
    "infer_types": True,
    "annotation_typing": False,
    "show_performance_hints": False,
}
"""No operand of // and % in the core is negative, so C's division is Python's."""


PURE = "GPUSIM_PURE"
"""Environment variable that asks for a wheel without the compiled core, which installs on any system."""

OPTIMIZED = [] if sys.platform == "win32" else ["-O3", "-g0", "-w"]

BUILT = FOLDER / f"{NAME}.sha256"
"""Beside an extension in place: the digest of the text that it was built from."""


def compile_core(folder: Path) -> Path | None:
    """
    Compile the core into a folder.

    Whether it can be compiled is found out by compiling it: a compiler without Python's headers is none.

    Returns:
        The extension, or None where it cannot be compiled; stderr has the reason.
    """
    if os.environ.get(PURE):
        sys.stderr.write(f"the core is not compiled, and will be interpreted: {PURE} is set\n")
        return None
    try:
        from Cython.Build import cythonize  # noqa: PLC0415 - may be missing
        from setuptools import Distribution, Extension  # noqa: PLC0415
    except ImportError as error:
        sys.stderr.write(f"the core is not compiled, and will be interpreted: {error}\n")
        return None
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / f"{NAME}.py"
        source.write_text(f'{core_text()}\nSOURCE_DIGEST = "{source_digest()}"\n', encoding="utf-8")
        source.with_suffix(".pxd").write_text(core_types(), encoding="utf-8")
        try:
            extensions = cythonize(
                [Extension(NAME, [str(source)], extra_compile_args=OPTIMIZED)],
                compiler_directives=DIRECTIVES,
                compile_time_env=named_integers(),
                build_dir=work,
                quiet=True,
            )
            command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
            command.build_lib, command.build_temp = str(folder), work
            command.ensure_finalized()
            command.run()
            return Path(command.get_ext_fullpath(NAME))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the tools raise, the core is interpreted
            sys.stderr.write(f"the core is not compiled, and will be interpreted: {type(error).__name__}: {error}\n")
            return None


def compile_in_place() -> bool:
    """Compile the core beside its text, unless it was built from this text already; return whether it is there."""
    built = any(FOLDER.glob(f"{NAME}.*.so")) or any(FOLDER.glob(f"{NAME}.*.pyd"))
    known = f"{source_digest()} {sys.version}"
    if built and BUILT.is_file() and BUILT.read_text(encoding="utf-8") == known:
        return True
    if compile_core(FOLDER) is None:
        return False
    BUILT.write_text(known, encoding="utf-8")
    return True


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled core to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the core; in place for an editable install, else into the wheel."""
        if version == "editable":
            compile_in_place()
            return
        self._folder = Path(tempfile.mkdtemp())
        extension = compile_core(self._folder)
        if extension is not None:
            build_data["force_include"][str(extension)] = f"gpusim/sim/core/{extension.name}"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove what was compiled beside the wheel."""
        if version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(0 if compile_in_place() else 1)
