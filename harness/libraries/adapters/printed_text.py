"""What a library prints while it works, for runtimes that print why they refuse a model and do not raise it."""

import contextlib
import ctypes
import os
import sys
import tempfile


def flush():
    sys.stdout.flush()
    # native code has a buffer of its own
    ctypes.CDLL(None).fflush(None)


@contextlib.contextmanager
def collected():
    """Collects what the block and the libraries that it calls write to stdout, in a list of lines that is filled when the block ends.

    What they write to stderr stays there, because twinfer shows the end of stderr when a worker dies.
    """
    lines = []
    flush()
    previous = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            flush()
            os.dup2(previous, 1)
            os.close(previous)
            file.seek(0)
            lines += file.read().decode(errors="replace").splitlines()
