#!/usr/bin/env python3
"""A twinfer worker that evaluates models in numpy, with a bug of a list planted, or several, or none."""
import argparse
import pathlib

import bugs
import tally
import worker


def main():
    """Serves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bug", default="none", help="the number of a bug of the list, of several of one operator (3+57), or none")
    parser.add_argument("--list", type=pathlib.Path, default=bugs.LIST, help="another list of bugs")
    parser.add_argument("--tally", type=pathlib.Path, help="a file for how often the bug was triggered and changed an output")
    arguments = parser.parse_args()
    listed = bugs.listed(arguments.list)
    chosen = [] if arguments.bug == "none" else [listed[int(number)] for number in arguments.bug.split("+")]
    bug = bugs.Several(tuple(chosen)) if len(chosen) > 1 else next(iter(chosen), None)
    worker.serve("planted", bug, arguments.tally and tally.Tally(arguments.tally))


if __name__ == "__main__":
    main()
