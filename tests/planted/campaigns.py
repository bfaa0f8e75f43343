"""Campaigns against the planted adapter, one per bug."""
import dataclasses
import os
import pathlib
import resource
import subprocess

FAMILIES = "conv,deconv,qdq-conv,qdq-deconv,block"  # graphs that are valid; the adapter refuses none
ADAPTER = pathlib.Path("tests/planted/adapter.py")  # from the root of the workspace, so that findings have the same names everywhere
ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Campaign:
    """What the campaigns of all bugs have in common."""

    twinfer: str
    cases: int
    seed: int
    out: pathlib.Path

    def run_of(self, bug):
        """The run directory of a bug; a number, or none."""
        return self.out / str(bug)

    def command(self, bug):
        """The command of a bug's campaign."""
        backends = f"golden,external:python3 {ADAPTER} --bug {bug}"
        options = {"--backends": backends, "--family": FAMILIES, "--cases": self.cases, "--seed": self.seed, "--jobs": 1,
                   "--known": self.nothing(), "--out": self.run_of(bug)}
        return [self.twinfer, "fuzz", "--trust", *(str(part) for pair in options.items() for part in pair)]

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
            ended = subprocess.run(self.command(bug), cwd=ROOT, capture_output=True, text=True, check=False,
                                   env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
            if ended.returncode not in (0, 1):
                raise RuntimeError(f"the campaign of bug {bug} ended with {ended.returncode}:\n{ended.stderr}")
            record.write_text(f"{_children() - before:.1f}\n")
        return float(record.read_text())


def _children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
