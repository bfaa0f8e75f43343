#!/usr/bin/env python3
"""Measures what twinfer makes of planted bugs: runs a campaign per bug, tries the explanations and the triggers of its findings on fresh
graphs, and writes a table. What has run is kept under --out and not run again.

    cargo build --release --locked -p twinfer-cli
    cargo build --release --locked -p twinfer-tests --examples
    tests/planted/measure.py --out target/planted
"""
import argparse
import dataclasses
import json
import pathlib

import bugs
import explanations
import found
import predictions
import table
from campaigns import ROOT, Campaign
from programs import Program


@dataclasses.dataclass
class Measured:
    """What a campaign made of one bug."""

    bug: int
    seconds: float
    findings: list
    tally: dict  # how often the bug shows in the cases, as tally.Tally; empty if it was found


def measured(campaign, number, bug, golden, triggers):
    """Runs the campaign of a bug and measures its findings, unless both are done."""
    kept = campaign.out / f"{number}.measured.json"
    if not kept.exists():
        seconds = campaign.run(number)
        findings = found.findings(campaign.run_of(number))
        agreements = explanations.agreements(bug, [claim for finding in findings for claim in explanations.claims(finding)], golden)
        for finding in findings:
            finding.agreement = {claim["name"]: agreements[explanations.key(claim)].shares for claim in explanations.claims(finding)}
        triggered = [finding for finding in findings if finding.trigger]
        for finding, figures in zip(triggered, predictions.figures(bug, [finding.trigger for finding in triggered], triggers)):
            finding.precision, finding.recall = figures
        tally = {} if findings else campaign.tally(number)
        record = {"bug": number, "seconds": seconds, "findings": [dataclasses.asdict(finding) for finding in findings], "tally": tally}
        kept.write_text(json.dumps(record, indent=1))
    read = json.loads(kept.read_text())
    return Measured(number, read["seconds"], [found.Finding(**finding) for finding in read["findings"]], read["tally"])


def numbers(text):
    """Numbers of bugs: 3, or 0-19."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", type=numbers, default=range(len(bugs.listed())), help="a number or a range [default: all]")
    parser.add_argument("--cases", type=int, default=2000, help="cases per bug")
    parser.add_argument("--seed", type=int, default=22, help="the seed of the cases")
    parser.add_argument("--distribution", default="baseline", help="the distribution of the cases")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the runs")
    parser.add_argument("--table", type=pathlib.Path, help="file for the table [default: OUT/planted-bugs.md]")
    parser.add_argument("--twinfer", default=ROOT / "target/release/twinfer")
    parser.add_argument("--golden", default=ROOT / "target/release/examples/agreement-with-mutants")
    parser.add_argument("--triggers", default=ROOT / "target/release/examples/satisfaction-of-triggers")
    parser.add_argument("--commit", default="unknown", help="the commit of twinfer, for the table")
    arguments = parser.parse_args()
    campaign = Campaign(str(arguments.twinfer), arguments.cases, arguments.seed, arguments.distribution, arguments.out.resolve())
    golden, triggers, listed = Program(arguments.golden), Program(arguments.triggers), bugs.listed()
    results = []
    for number in arguments.bugs:
        results.append(measured(campaign, number, listed[number], golden, triggers))
        print(number, len(results[-1].findings), "findings", flush=True)
    written = arguments.table or arguments.out / "planted-bugs.md"
    written.write_text(table.table(listed, results, arguments))


if __name__ == "__main__":
    main()
