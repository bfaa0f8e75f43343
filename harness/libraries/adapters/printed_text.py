"""What a library prints while it works, for runtimes that print why they refuse a model instead of raising it."""

import contextlib
import ctypes
import os
import sys
import tempfile


def flush():
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


@contextlib.contextmanager
def collected():
    """Collects the standard output of native code, of which errors of a crash are no part. Gives a list that has the lines once the
    block ends; they go to stderr as well, whose end twinfer shows when a worker dies."""
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
            text = file.read()
            os.write(2, text)
            lines += text.decode(errors="replace").splitlines()
