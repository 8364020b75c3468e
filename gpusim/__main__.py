"""``python -m gpusim`` and the installed command. An interrupt at any moment ends in one line and exit code 130."""

# Nothing more is imported here: an interrupt during an import above ``main`` would print a traceback.
import sys

INTERRUPTED = 130
"""Exit code of an interrupted command, as shells expect it."""

_UNWOUND_S = 0.2
"""Seconds after which an interrupt is taken for lost if the main thread handles no exception."""

_NEW_OBJECTS = 400_000
"""Net new objects before the garbage collector runs: more than a small run with pictures makes."""


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

    Python cannot raise an interrupt in a destructor, and a library's C code may clear one: such an interrupt is
    delivered again a moment later. An interrupt after the end of the command is ignored.
    """
    import signal  # noqa: PLC0415 # as all imports here, within the reach of ``main``
    import threading  # noqa: PLC0415

    main_thread = threading.get_ident()

    def deliver() -> None:
        if sys.platform == "win32":
            signal.raise_signal(signal.SIGINT)
        else:  # sent to the main thread, the signal ends a blocking call there
            signal.pthread_kill(main_thread, signal.SIGINT)

    def deliver_where_cleared() -> None:
        handled = sys._current_exceptions().get(main_thread)  # noqa: SLF001 # there is no other way
        if handled is None or handled == (None, None, None):  # without an exception, Python before 3.12 has a tuple
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
    # The operating system frees the memory: a last garbage collection at exit would only take time.
    import gc  # noqa: PLC0415

    gc.freeze()
    return code


def _ignore_interrupts() -> None:
    """
    Ignore further interrupts, and have Python forget the last one.

    If an interrupt leaves code that is executed from text, as dataclasses do, Python remembers it and kills itself at
    exit.
    """
    import signal  # noqa: PLC0415

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exec("")  # noqa: S102 # code given as text that ends well


def _prepare() -> None:
    """
    Set up the process so that a small run takes three quarters of the time. ``import gpusim`` alone does not do this.

    NumPy's BLAS would start a thread on every core, which spins for a tenth of a second even without work. And the
    garbage collector would visit hundreds of thousands of rows, which have no reference cycles, again and again.
    """
    import gc  # noqa: PLC0415
    import os  # noqa: PLC0415

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(_NEW_OBJECTS)


if __name__ == "__main__":
    sys.exit(main())
