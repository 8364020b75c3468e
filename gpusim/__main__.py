"""``python -m gpusim`` and the installed command: an interrupt at any moment is one line and exit code 130."""

# Nothing more is imported here: an interrupt during an import above ``main`` would be a traceback.
import sys

INTERRUPTED = 130
"""Exit code of an interrupted command, as shells expect it."""

_UNWOUND_S = 0.2
"""Seconds after which an interrupt is taken for lost if the main thread handles no exception."""

_NEW_OBJECTS = 400_000
"""Objects made, less those dropped, before the collector looks for cycles: more than of a small run with pictures."""


def main() -> int:
    """Run the command line, and return its exit code."""
    interrupts: list[int] = []
    try:
        code = _run(interrupts)
    except BaseException:
        if not interrupts and sys.exc_info()[0] is not KeyboardInterrupt:
            raise
        _ignore_interrupts()
        # Compiled libraries turn an interrupt into errors of their own.
        if sys.stderr is not None:
            sys.stderr.write("gpusim: interrupted\n")
        return INTERRUPTED
    return code


def _run(interrupts: list[int]) -> int:
    """
    Run the command line, and note interrupts, which raise ``KeyboardInterrupt``.

    One that arrives where Python can raise nothing, as in a destructor, is delivered again a moment later, and so is
    one that a library's C code has cleared. One that arrives when all is done is ignored.
    """
    import signal  # noqa: PLC0415 # as all imports here, within the reach of ``main``
    import threading  # noqa: PLC0415

    main_thread = threading.get_ident()

    def deliver() -> None:
        if sys.platform == "win32":
            signal.raise_signal(signal.SIGINT)
        else:  # sent to the main thread, it ends what that waits for
            signal.pthread_kill(main_thread, signal.SIGINT)

    def deliver_where_cleared() -> None:
        handled = sys._current_exceptions().get(main_thread)  # noqa: SLF001 # there is no other way
        if handled is None or handled == (None, None, None):  # before Python 3.12 three for none
            deliver()

    def note(number: int, _: object) -> None:
        interrupts.append(number)
        later = threading.Timer(_UNWOUND_S, deliver_where_cleared)
        later.daemon = True
        later.start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)

    def deliver_again(unraisable: "sys.UnraisableHookArgs") -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            threading.Timer(0.01, deliver).start()
        else:
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = deliver_again
    _prepare()
    from gpusim.cli import main as run  # noqa: PLC0415

    code = run()
    _ignore_interrupts()
    # The system frees what is left: the collector, which looks at it once more when Python ends, is spared that.
    import gc  # noqa: PLC0415

    gc.freeze()
    return code


def _ignore_interrupts() -> None:
    """
    Ignore further interrupts, and have Python forget the last one.

    Python remembers one that left code given as text, which dataclasses are made by, and kills itself in the end.
    """
    import signal  # noqa: PLC0415

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exec("")  # noqa: S102 # code given as text that ends well


def _prepare() -> None:
    """
    Spare the process what costs a small run a quarter of its time; who imports gpusim decides on that alone.

    NumPy's BLAS starts a thread on every core, which spins for a tenth of a second whether or not matrices come. And
    what a run makes by the hundred thousand are rows without cycles, which the collector would visit again and again.
    """
    import gc  # noqa: PLC0415
    import os  # noqa: PLC0415

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(_NEW_OBJECTS)


if __name__ == "__main__":
    sys.exit(main())
