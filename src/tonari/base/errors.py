"""What tonari raises. Each error says what is wrong, where, and what to do about it."""

from __future__ import annotations


class TonariError(Exception):
    """An error whose message a user can act on.

    Parameters
    ----------
    message : str
        What is wrong and where (file, row, column).
    remedy : str, default=""
        What to do about it; printed as a second sentence.
    """

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.message = message
        self.remedy = remedy


class UsageError(TonariError, ValueError):
    """An option or a combination of options that cannot be carried out (exit code 2)."""

    exit_code = 2


class ParameterTypeError(UsageError, TypeError):
    """A parameter of the wrong type: a ValueError and a TypeError, as scikit-learn's is (exit code 2)."""


class DataError(TonariError, ValueError):
    """A file or table that cannot be used as it is (exit code 3)."""

    exit_code = 3


class ModelFileError(DataError):
    """A model file that is damaged, of another version, or no model file at all (exit code 3).

    Parameters
    ----------
    message, remedy : str
        As for `TonariError`.
    code : str, default="content"
        Which check refused it; the codes are listed in ``store/FORMAT.md``.
    offset : int or None, default=None
        Where in the file, in bytes from its start.
    section : str or None, default=None
        The section concerned.
    """

    def __init__(
        self, message: str, remedy: str = "", *, code: str = "content", offset: int | None = None,
        section: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message, remedy)
        self.code = code
        self.offset = offset
        self.section = section
