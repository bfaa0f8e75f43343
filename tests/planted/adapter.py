#!/usr/bin/env python3
"""A twinfer worker that evaluates models in numpy, with one bug of a list planted, or none."""
import argparse
import pathlib

import bugs
import worker

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bug", default="none", help="the number of a bug of the list, or none")
    parser.add_argument("--list", type=pathlib.Path, default=bugs.LIST, help="another list of bugs")
    arguments = parser.parse_args()
    worker.serve("planted", None if arguments.bug == "none" else bugs.listed(arguments.list)[int(arguments.bug)])
