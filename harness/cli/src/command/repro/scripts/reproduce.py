"""Show a bug: run model.onnx in a process of its own and compare the result with what ONNX defines.

Exit status: 1, the bug shows; 0, it does not; 2, this machine cannot tell, because a package, a provider or a GPU is missing, or because
the backend fails in another way before the bug could show.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
from typing import NamedTuple

SHOWS, DOES_NOT_SHOW, CANNOT_TELL = 1, 0, 2

try:
    import numpy

    import data
except ImportError as missing:
    print(f"cannot tell: {missing}; README.md lists the packages to install")
    sys.exit(CANNOT_TELL)

HERE = pathlib.Path(__file__).parent
SECONDS = 150
# of an unstable bug: how often the model is run from the start, in a new process each time
PROCESSES = 10
# how many of the last lines of a backend's log are shown
LOGGED = 20
COLOR = re.compile(r"\x1b\[[0-9;]*m")
# kinds that any problem shows
SHOWN_BY_ANY = {"unstable", "state-dependent"}
# kinds that only a model which runs can show
NEEDS_EXECUTION = {
    "wrong-values", "wrong-dtype", "unwritten-output", "nondeterministic", "unstable", "state-dependent", "disagree"
}
# kinds that show in what this script does not see
UNSEEN = {"out-of-bounds-write", "disagree"}


class Problem(NamedTuple):
    """Something in which the backend does not do what ONNX defines."""

    # the kinds of bugs that it shows
    kinds: set
    text: str
    # whether it keeps what comes later from being seen
    ends: bool = False

    def was_reported(self):
        return not data.KINDS or not (self.kinds | SHOWN_BY_ANY).isdisjoint(data.KINDS)


class Attempt(NamedTuple):
    """What one process did."""

    report: dict
    problems: list
    log: str

    def shows(self):
        return any(problem.was_reported() for problem in self.problems)


def compile_program(folder):
    """Compiles a program that runs the model, where no Python package does; why that fails, or None."""
    target = ["--manifest-path", str(folder / "Cargo.toml"), "--target-dir", str(folder / "target")]
    try:
        subprocess.run(["cargo", "build", "--release", "--quiet", *target], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{folder.name} does not compile: {error}"
    return None


def attempt(arguments):
    """Runs the model in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report, ended, log = run_model(arguments, folder)
        found = [] if report["unavailable"] else list(problems(report, ended, folder))
    return Attempt(report, found, log)


def run_model(arguments, folder):
    """The report of run_model.py, what its process ended of if it did not end by itself, and what it logged."""
    command = [sys.executable, str(HERE / "run_model.py"), str(folder), *arguments]
    ended = None
    try:
        process = subprocess.run(command, timeout=SECONDS, stderr=subprocess.PIPE, text=True, errors="replace")
        log = process.stderr
        if process.returncode != 0:
            ended = Problem({"crash"}, f"the process ended with status {process.returncode}", ends=True)
    except subprocess.TimeoutExpired as expired:
        log = (expired.stderr or b"").decode(errors="replace")
        ended = Problem({"hang"}, f"the process did not end within {SECONDS} seconds", ends=True)
    file = folder / "report.json"
    if not file.exists():
        raise RuntimeError(f"run_model.py did not start:\n{log}")
    report = json.loads(file.read_text())
    report["errors_logged"] += [line for line in log.splitlines() if "[E:onnxruntime" in line]
    return report, ended, log


def problems(report, ended, folder):
    """Everything in which the backend does not do what ONNX defines."""
    stage, error = report["stage"], report["error"]
    if ended:
        yield ended._replace(text=f"{stage}: {ended.text}")
    elif not data.VALID:
        if not error:
            yield Problem({"accepts-invalid"}, f"the model is invalid, and the backend accepts it (stage {stage})")
    elif error:
        yield Problem({"rejects-valid", "build-failure"}, f"{stage} fails: {error}", ends=True)
    else:
        yield from compare_inferred_shapes(report)
        yield from compare_values(report, folder)
        yield from (Problem({"nondeterministic"}, text) for text in report["differing_repetitions"])
        yield from (Problem({"precision-fallback"}, text) for text in report["fallbacks"])
        if "error-logged" in data.KINDS:
            yield from (Problem({"error-logged"}, f"an error is logged: {line}") for line in report["errors_logged"])


def compare_inferred_shapes(report):
    if report["executed"] or len(data.EXPECTED) != 1:
        return
    for index, (shape, expected) in enumerate(zip(report["inferred_shapes"] or [], data.EXPECTED[0])):
        known = isinstance(shape, list) and all(isinstance(extent, int) and extent >= 0 for extent in shape)
        if known and shape != list(expected[1]):
            yield Problem({"wrong-shape"}, f"output {index} is inferred as {shape} instead of {list(expected[1])}")


def compare_values(report, folder):
    for run, outputs in enumerate(data.load_expected()):
        for index, (dtype, values, bounds) in enumerate(outputs):
            file = folder / f"run_{run}_output_{index}.npy"
            if file.exists() and (problem := wrong_output(dtype, values, bounds, numpy.load(file))):
                yield problem._replace(text=f"run {run}, output {index}: {problem.text}")


def wrong_output(dtype, values, bounds, output):
    """What is wrong with one output; None if nothing is."""
    if list(output.shape) != list(values.shape):
        return Problem({"wrong-shape"}, f"shape {list(output.shape)} instead of {list(values.shape)}")
    if output.dtype != numpy.dtype(dtype):
        return Problem({"wrong-dtype"}, f"type {output.dtype} instead of {numpy.dtype(dtype)}")
    given = output.astype("f8")
    with numpy.errstate(invalid="ignore"):
        equal = (given == values) | (numpy.isnan(given) & numpy.isnan(values)) | numpy.isposinf(bounds)
        wrong = ~(equal | (numpy.abs(given - values) <= bounds))
    if not wrong.any():
        return None
    at = tuple(int(index) for index in numpy.argwhere(wrong)[0])
    differ = f"{wrong.sum()} of {wrong.size} elements differ; at {list(at)} {given[at]:g} instead of {values[at]:g}"
    return Problem({"wrong-values", "unwritten-output"}, differ)


def unknown(last):
    """Why the bug may be there although it does not show; None if it is not there."""
    if data.KINDS and UNSEEN.issuperset(data.KINDS):
        return f"this script does not see {data.KIND}"
    # a model that fails in another way does not crash or hang
    waits = not {"crash", "hang"}.issuperset(data.KINDS)
    ends = [problem for problem in last.problems if problem.ends]
    if any(waits or problem.kinds != {"rejects-valid", "build-failure"} for problem in ends):
        return f"the backend fails before it could show {data.KIND or 'a difference'}"
    needs_execution = not data.KINDS or not NEEDS_EXECUTION.isdisjoint(data.KINDS)
    if data.VALID and needs_execution and not last.report["executed"]:
        return last.report["skipped"] or "the model was not executed"
    return None


def conclude(last):
    """Prints what the last attempt showed; the exit status."""
    if last.report["unavailable"]:
        print(f"cannot tell: {last.report['unavailable']}")
        return CANNOT_TELL
    for problem in last.problems:
        print(problem.text if problem.was_reported() else f"not what was reported: {problem.text}")
    if last.shows():
        print(f"the bug shows (reported as {data.KIND or 'a difference'})")
        return SHOWS
    if reason := unknown(last):
        print(f"cannot tell: {reason}")
        return CANNOT_TELL
    print("the bug does not show")
    return DOES_NOT_SHOW


def parsed_arguments():
    commands = "\n".join(f"  {title}:\n    python reproduce.py {' '.join(arguments)}" for title, arguments in data.COMMANDS)
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"as it was reported; README.md lists the packages to install:\n{commands}" if commands else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backend", nargs="*", default=data.DEFAULT, help="the backend and its options [default: the first below]")
    arguments = parser.parse_args().backend
    if not arguments:
        parser.error("name a backend, as in: python reproduce.py onnxruntime CPUExecutionProvider")
    return arguments


def main():
    arguments = parsed_arguments()
    failure = compile_program(HERE / "rten") if arguments[0] == "rten" else None
    if failure:
        print(f"cannot tell: {failure}")
        return CANNOT_TELL
    for _ in range(PROCESSES if data.KIND == "unstable" else 1):
        last = attempt(arguments)
        if last.shows():
            break
    print(last.report["backend"] or " ".join(arguments))
    if last.report["program"]:
        print("the model as a module of PyTorch:", last.report["program"].strip(), sep="\n")
    status = conclude(last)
    # what raises an exception says so there; a process that dies or hangs leaves only its log
    if last.report["unavailable"] or any(not problem.kinds.isdisjoint({"crash", "hang"}) for problem in last.problems):
        sys.stdout.flush()
        sys.stderr.writelines(f"log: {COLOR.sub('', line)}\n" for line in last.log.splitlines()[-LOGGED:])
    return status


if __name__ == "__main__":
    try:
        status = main()
    except Exception:
        # a mistake here, or in the files of this folder, is not the bug
        traceback.print_exc()
        status = CANNOT_TELL
    sys.exit(status)
