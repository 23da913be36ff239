"""Errors for people: one line that says what is wrong, with which thing, and what to do about it."""


class UserError(Exception):
    """Something the user can act on; the command line prints its message alone and exits with `exit_code`.

    Exit codes: 2 for a request that can't be understood or met (an unknown release, a bad option),
    1 for one that failed on the way (the index is unreachable, the disk is full).
    """

    exit_code = 2


class FailedError(UserError):
    """A sound request that failed on the way: network, disk, a damaged file."""

    exit_code = 1
