#!/usr/bin/env python3
"""Measures what twinfer makes of two planted bugs in one operator, each under a trigger of its own: a line for each bug, with what the
explanation of each finding is worth as one of that bug.

    cargo build --release --locked -p twinfer-cli
    cargo build --release --locked -p twinfer-tests --examples
    tests/planted/pairs.py --out target/pairs
"""
import argparse
import collections
import dataclasses
import json
import pathlib

import bugs
import explanations
import found
from campaigns import ROOT, Campaign
from programs import Program


def pairs(listed):
    """The numbers of bugs of one operator that have triggers, two after the other in the order of the list."""
    of_operator = collections.defaultdict(list)
    for number, bug in enumerate(listed):
        if bug.trigger.conditions:
            of_operator[bug.operator].append(number)
    return sorted(pair for numbers in of_operator.values() for pair in zip(numbers[::2], numbers[1::2]))


def verdicts(bug, findings, golden):
    """What the explanation of each finding is worth as one of a bug."""
    claims = [claim for finding in findings for claim in explanations.claims(finding)]
    agreements = explanations.agreements(bug, claims, golden)
    shares = lambda finding: {claim["name"]: agreements[explanations.key(claim)].shares for claim in explanations.claims(finding)}
    return [dataclasses.replace(finding, agreement=shares(finding)).verdict.value for finding in findings]


def measured(campaign, pair, listed, golden):
    """Per bug of a pair the verdicts on the findings of a campaign, which runs unless it has."""
    name = "+".join(map(str, pair))
    kept = campaign.out / f"{name}.measured.json"
    if not kept.exists():
        campaign.run(name)
        findings = found.findings(campaign.run_of(name))
        kept.write_text(json.dumps([verdicts(listed[number], findings, golden) for number in pair]))
    return json.loads(kept.read_text())


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="measure one in so many pairs, from the first on [default: all]")
    parser.add_argument("--cases", type=int, default=1000, help="cases per pair")
    parser.add_argument("--seed", type=int, default=22, help="the seed of the cases")
    parser.add_argument("--distribution", default="baseline", help="the distribution of the cases")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the runs")
    parser.add_argument("--twinfer", default=ROOT / "target/release/twinfer")
    parser.add_argument("--golden", default=ROOT / "target/release/examples/agreement-with-mutants")
    arguments = parser.parse_args()
    campaign = Campaign(str(arguments.twinfer), arguments.cases, arguments.seed, arguments.distribution, arguments.out.resolve())
    golden, listed = Program(arguments.golden), bugs.listed()
    for pair in pairs(listed)[::arguments.every]:
        for number, of_bug in zip(pair, measured(campaign, pair, listed, golden)):
            bug = listed[number]
            print(number, bug.operator, bug.words, bug.trigger, ", ".join(of_bug), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
