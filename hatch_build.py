"""
Compiles the cores of the simulator and of the executor, where that is possible, for a wheel or in place.

``python hatch_build.py`` compiles them in place. hatchling calls ``CustomBuildHook`` for a wheel. Where Cython, a C
compiler or Python's headers are missing, or ``GPUSIM_PURE`` is set, the cores are interpreted: the wheel is pure, and
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

from gpusim.compiled.text import CoreText  # noqa: E402 - it lies beside
from gpusim.execute.core.source import CTA  # noqa: E402
from gpusim.sim.core.source import CHIP  # noqa: E402

sys.path.remove(str(ROOT))

CORES = (CHIP, CTA)

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
"""No operand of // and % in a core is negative, so C's division is Python's."""


PURE = "GPUSIM_PURE"
"""Environment variable that asks for a wheel without the compiled core, which installs on any system."""

OPTIMIZED = [] if sys.platform == "win32" else ["-O3", "-g0", "-w", "-fwrapv"]


def compile_core(core: CoreText, folder: Path) -> Path | None:
    """
    Compile a core into a folder.

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
        source = Path(work) / f"{core.module}.py"
        source.write_text(f'{core.code()}\nSOURCE_DIGEST = "{core.digest()}"\n', encoding="utf-8")
        source.with_suffix(".pxd").write_text(core.types(), encoding="utf-8")
        try:
            extensions = cythonize(
                [Extension(core.module, [str(source)], extra_compile_args=OPTIMIZED)],
                compiler_directives=DIRECTIVES,
                compile_time_env=core.named_integers(),
                build_dir=work,
                quiet=True,
            )
            command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
            command.build_lib, command.build_temp = str(folder), work
            command.ensure_finalized()
            command.run()
            return Path(command.get_ext_fullpath(core.module))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the tools raise, the core is interpreted
            sys.stderr.write(f"the core is not compiled, and will be interpreted: {type(error).__name__}: {error}\n")
            return None


def compile_in_place(core: CoreText) -> bool:
    """Compile a core beside its text, unless it was built from this text already; return whether it is there."""
    built = any(core.folder.glob(f"{core.module}.*.so")) or any(core.folder.glob(f"{core.module}.*.pyd"))
    known = f"{core.digest()} {sys.version}"
    digest = core.folder / f"{core.module}.sha256"
    if built and digest.is_file() and digest.read_text(encoding="utf-8") == known:
        return True
    if compile_core(core, core.folder) is None:
        return False
    digest.write_text(known, encoding="utf-8")
    return True


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the compiled cores to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the cores; in place for an editable install, else into the wheel."""
        if version == "editable":
            for core in CORES:
                compile_in_place(core)
            return
        self._folder = Path(tempfile.mkdtemp())
        for core in CORES:
            extension = compile_core(core, self._folder)
            if extension is not None:
                inside = core.folder.relative_to(ROOT).as_posix()
                build_data["force_include"][str(extension)] = f"{inside}/{extension.name}"
                build_data["pure_python"] = False
                build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove what was compiled beside the wheel."""
        if version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(1 - min(compile_in_place(core) for core in CORES))
