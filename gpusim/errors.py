"""The errors gpusim raises on purpose, and the exit code each one means."""


class GpusimError(Exception):
    """
    Base of every error that is the user's to read: one line, no traceback.

    Attributes:
        exit_code: What the process returns when this error ends a command.
    """

    exit_code = 1


class CannotRun(GpusimError):
    """It could not be done: an I/O error, or a device or tool that is missing."""


class BadInput(GpusimError):
    """Bad usage or a bad scenario: names the file, the key, the value and what is allowed."""

    exit_code = 2


class CheckFailed(GpusimError):
    """It was done, and a check did not hold."""

    exit_code = 3
