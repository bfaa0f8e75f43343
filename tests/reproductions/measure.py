#!/usr/bin/env python3
"""Tries the reproductions of all findings of a campaign, as somebody would who has nothing but the folder that `twinfer repro` writes: installs
what its page names in an environment of its own, and runs the commands of the page. Each must show the bug, must not show it where golden's
values stand in for the backend, and must not show it with another release that conforms. Writes a table. What has run is kept under --out.

    cargo build --release --locked -p twinfer-cli
    tests/reproductions/measure.py --out target/reproductions

Exits with 1 if a reproduction does not do what it says.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import sys

import pages
import table
from environments import Environments

ROOT = pathlib.Path(__file__).resolve().parents[2]
BACKENDS = "golden,ort:cpu,ort:cpu,opt=off,ort:cpu,version=1.22,trt-rtx,trt-rtx,version=1.4"


@dataclasses.dataclass(frozen=True)
class Tried:
    """What the reproduction of a finding did; statuses are those of reproduce.py."""

    finding: str
    kind: str
    documented: bool
    shown: dict  # by command of the page, must be 1
    with_golden: int  # must be 0
    elsewhere: dict  # by variant that conforms, must be 0, or 2 if that machine cannot tell

    def says_what_it_shows(self):
        """Whether every status is what it must be."""
        return (
            bool(self.shown) and set(self.shown.values()) == {1} and self.with_golden == 0 and 1 not in self.elsewhere.values()
        )


class Campaign:
    """A campaign, and what twinfer makes of its findings."""

    def __init__(self, twinfer, out, run):
        self.twinfer, self.out, self.run = str(twinfer), out, run

    def complete(self, backends, cases, seed):
        """Runs the campaign; continues what is there."""
        (self.out / "known").mkdir(parents=True, exist_ok=True)
        options = ["--backends", backends, "--cases", str(cases), "--seed", str(seed), "--known", str(self.out / "known")]
        command = [self.twinfer, "fuzz", *options, "--out", str(self.run), "--resume-or-start", "--exit-zero-on-findings", "--quiet"]
        subprocess.run(command, check=True)

    def recorded(self):
        """What run.json says."""
        return json.loads((self.run / "run.json").read_text())

    def backends(self):
        """The variants of the campaign."""
        return ",".join(["golden", *(variant["variant"] for variant in self.recorded()["variants"])])

    def findings(self):
        """The folders of the findings."""
        return sorted(path.parent for path in self.run.glob("findings/*/finding.json"))

    def page(self, finding, variant=None):
        """The folder of a reproduction: of what was recorded, or of what a variant does now."""
        folder = self.out / "pages" / (variant or "recorded").replace(":", "-").replace(",", "-") / finding.name
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            now = ["--backends", variant] if variant else []
            subprocess.run([self.twinfer, "repro", str(finding), "--out", str(folder), *now], check=True, stdout=subprocess.DEVNULL)
        return folder

    def conforming(self):
        """The variants that twinfer says conform on the minimal case of each finding, by the finding's name."""
        kept = self.out / "survey.json"
        if not kept.exists():
            command = [self.twinfer, "check", str(self.run / "findings"), "--backends", self.backends(), "--format", "json", "--quiet"]
            kept.write_text(subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True).stdout)
        survey = json.loads(kept.read_text())
        variants = [variant["variant"] for variant in survey["variants"]]
        conform = lambda case: [variant for variant, answer in zip(variants, case["answers"]) if answer["verdict"] == "conforms"]
        return {case["name"]: conform(case) for case in survey["cases"]}


def tried(campaign, environments, finding, conforming):
    """Tries the reproduction of a finding, unless it has been tried; `conforming` are the variants that do not show it."""
    kept = campaign.out / "tried" / f"{finding.name}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(dataclasses.asdict(_tried(campaign, environments, finding, conforming)), indent=1))
    return Tried(**json.loads(kept.read_text()))


def _tried(campaign, environments, finding, conforming):
    about = json.loads((finding / "finding.json").read_text())
    page = campaign.page(finding)
    commands = pages.commands(page)
    shown = {command: environments.status(page, packages, command) for packages, command in commands}
    with_golden = None
    for packages, command in commands[:1]:
        with_golden = environments.status(pages.answered_by_golden(page), packages, command)
    elsewhere = {}
    for variant in conforming:
        there = campaign.page(finding, variant)
        for packages, command in pages.commands(there):
            elsewhere[variant] = environments.status(there, packages, command)
    documented = any(divergence.get("documented") for divergence in about["divergences"])
    return Tried(finding.name, about["kind"], documented, shown, with_golden, elsewhere)


def main():
    """Tries all findings and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default=BACKENDS, help="the backends to compare")
    parser.add_argument("--cases", type=int, default=3000, help="cases of the campaign")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the cases")
    parser.add_argument("--run", type=pathlib.Path, help="the run directory of a campaign that is complete, in place of a new one")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the run, the environments and the pages")
    parser.add_argument("--table", type=pathlib.Path, help="file for the table [default: OUT/reproductions.md]")
    parser.add_argument("--twinfer", type=pathlib.Path, default=ROOT / "target/release/twinfer")
    parser.add_argument("--commit", default="unknown", help="the commit of twinfer, for the table")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(arguments.twinfer.resolve(), out, (arguments.run or out / "run").resolve())
    if not arguments.run:
        campaign.complete(arguments.backends, arguments.cases, arguments.seed)
    environments, conforming = Environments(campaign.out / "environments"), campaign.conforming()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda finding: tried(campaign, environments, finding, conforming[finding.name]), campaign.findings()))
    written = arguments.table or campaign.out / "reproductions.md"
    written.write_text(table.table(results, campaign, arguments.commit))
    failed = [result for result in results if not result.says_what_it_shows()]
    for result in failed:
        print(f"does not do what it says: {result}", file=sys.stderr)
    print(f"{len(results) - len(failed)} of {len(results)} reproductions do what they say")
    sys.exit(bool(failed) or not results)


if __name__ == "__main__":
    main()
