"""Campaigns against the planted adapter, one per bug."""
import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import tempfile

FAMILIES = "conv,deconv,qdq-conv,qdq-deconv,block"  # graphs that are valid; the adapter refuses none
ADAPTER = pathlib.Path("tests/planted/adapter.py")  # from the root of the workspace, so that findings have the same names everywhere
ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Campaign:
    """What the campaigns of all bugs have in common."""

    twinfer: str
    cases: int
    seed: int
    distribution: str
    out: pathlib.Path

    def run_of(self, bug):
        """The run directory of a bug; a number, or none."""
        return self.out / str(bug)

    def command(self, bug, out, *options):
        """The command of a campaign on the adapter with a bug and further options."""
        backends = f"golden,external:{' '.join(['python3', str(ADAPTER), '--bug', str(bug), *options])}"
        stated = {"--backends": backends, "--family": FAMILIES, "--distribution": self.distribution, "--cases": self.cases,
                  "--seed": self.seed, "--jobs": 1, "--known": self.nothing(), "--out": out}
        return [self.twinfer, "fuzz", "--trust", *(str(part) for pair in stated.items() for part in pair)]

    def nothing(self):
        """A folder without known findings."""
        folder = self.out / "known"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def run(self, bug):
        """Runs the campaign of a bug unless it has run: the CPU time in seconds."""
        record = self.out / f"{bug}.seconds"
        if not record.exists():
            before = _children()
            _completed(self.command(bug, self.run_of(bug)))
            record.write_text(f"{_children() - before:.1f}\n")
        return float(record.read_text())

    def tally(self, bug):
        """How often a bug shows in the cases of its campaign, which found nothing; by the names of `tally.Tally`."""
        record = self.out / f"{bug}.tally.json"
        if not record.exists():
            with tempfile.TemporaryDirectory() as folder:
                _completed(self.command(bug, pathlib.Path(folder) / "run", "--tally", str(record)))
        return json.loads(record.read_text())


def _completed(command):
    """Runs a campaign, whether it finds something or not."""
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")


def _children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
