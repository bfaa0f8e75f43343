#!/usr/bin/env python3
"""Measures what twinfer makes of two bugs at once that golden lists as mutants, planted in ONNX Runtime: a line for each pair, with what its
findings name.

    cargo build --release --locked -p twinfer-cli
    tests/planted/listed_pairs.py --out target/listed-pairs
"""
import argparse
import dataclasses
import pathlib
import sys

import found
from campaigns import ROOT, Campaign

ADAPTER = "tests/adapters/mutated_adapter.py"  # from the root of the workspace
# what they change is rounding, which explains nothing beside another bug
OF_PRECISION = {"operands-in-bfloat16", "operands-in-tf32", "sums-in-half"}


@dataclasses.dataclass(frozen=True)
class MutatedCampaign(Campaign):
    """A campaign on the adapter that plants bugs which golden lists."""

    def command(self, bug, out, *options):
        command = super().command(bug, out, *options)
        place = command.index("--backends") + 1
        return command[:place] + [f"golden,external:python3 {ADAPTER} --bug {bug}"] + command[place + 1:]


def listed():
    """The names of the bugs in order."""
    sys.path.insert(0, str(ROOT / "tests/adapters"))
    from mutated.bugs import BUGS
    return sorted(set(BUGS) - OF_PRECISION)


def pairs(names):
    """Each bug with the one that is half the list away, once."""
    half = len(names) // 2
    return list(zip(names[:half], names[half:]))


def named(finding, pair):
    """What the explanations of a finding name: a bug of the pair or both, something else, or nothing."""
    both = {"+".join(pair), "+".join(reversed(pair))}
    if both & set(finding.explanations):
        return "both"
    if set(pair) & set(finding.explanations):
        return "one"
    return "other" if finding.explanations else "none"


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=150, help="cases per pair")
    parser.add_argument("--seed", type=int, default=22, help="the seed of the cases")
    parser.add_argument("--distribution", default="baseline", help="the distribution of the cases")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the runs")
    parser.add_argument("--twinfer", default=ROOT / "target/release/twinfer")
    arguments = parser.parse_args()
    campaign = MutatedCampaign(str(arguments.twinfer), arguments.cases, arguments.seed, arguments.distribution, arguments.out.resolve())
    totals, bugs_named, bugs_of_all = {}, 0, 0
    for pair in pairs(listed()):
        name = "+".join(pair)
        campaign.run(name)
        findings = found.findings(campaign.run_of(name))
        verdicts = [named(finding, pair) for finding in findings]
        names = {name for finding in findings for name in finding.explanations}
        names |= {part for name in names for part in name.split("+")}
        bugs_named += len(names & set(pair))
        bugs_of_all += 2
        for verdict in verdicts:
            totals[verdict] = totals.get(verdict, 0) + 1
        print(" + ".join(pair), "|", ", ".join(verdicts), flush=True)
    print(f"{sum(totals.values())} findings: {totals}; {bugs_named} of {bugs_of_all} bugs are named")


if __name__ == "__main__":
    main()
