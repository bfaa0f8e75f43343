#!/usr/bin/env python3
"""A twinfer worker around ONNX Runtime with a planted bug."""
import argparse, pathlib, sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "adapters"))

from onnxruntime_adapter import serve
from mutated.bugs import BUGS
from mutated.session import MutatedSession
from mutated.strangers import STRANGERS

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--bug", help="which bug, or several at once: NAME+NAME")
    what.add_argument("--list", action="store_true", help="name all bugs")
    parser.add_argument("--node", help="the name of the node that has the bug; all nodes by default")
    arguments = parser.parse_args()
    if arguments.list:
        print(*BUGS, *STRANGERS, sep="\n")
    else:
        bugs = [(BUGS | STRANGERS)[name] for name in arguments.bug.split("+")]
        has_bug = lambda step: arguments.node in (None, step.node.name)
        serve(lambda model: MutatedSession(model, lambda step: has_bug(step) and [bug(step) for bug in bugs]))
