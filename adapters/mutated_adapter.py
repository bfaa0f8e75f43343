#!/usr/bin/env python3
"""A twinfer worker around ONNX Runtime with a planted bug: `--bug NAME`, or several at once, `--bug NAME+NAME`."""
import argparse

from onnxruntime_adapter import serve
from mutated.bugs import BUGS
from mutated.session import MutatedSession
from mutated.strangers import STRANGERS

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bug", required=True, help=f"one of: {', '.join([*BUGS, *STRANGERS])}")
    bugs = [(BUGS | STRANGERS)[name] for name in parser.parse_args().bug.split("+")]
    serve(lambda model: MutatedSession(model, lambda step: [bug(step) for bug in bugs]))
