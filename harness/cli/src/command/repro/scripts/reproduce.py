"""Show a bug: run model.onnx in a process of its own and compare the result with what ONNX defines.

Exit status: 1, the bug shows; 0, it does not; 2, this machine cannot tell (a package, a provider or a GPU is missing).
README.md lists the packages to install and the arguments for each backend.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

import data

HERE = pathlib.Path(__file__).parent
SECONDS = 300
SHOWS, DOES_NOT_SHOW, CANNOT_TELL = 1, 0, 2


def run_model(arguments, folder):
    """The report of run_model.py, and how its process ended if it did not end by itself."""
    command = [sys.executable, str(HERE / "run_model.py"), str(folder), *arguments]
    ended = None
    try:
        process = subprocess.run(command, timeout=SECONDS, stderr=subprocess.PIPE, text=True, errors="replace")
        log = process.stderr
        if process.returncode != 0:
            ended = f"the process ended with status {process.returncode}"
    except subprocess.TimeoutExpired as expired:
        log = (expired.stderr or b"").decode(errors="replace")
        ended = f"the process did not end within {SECONDS} seconds"
    sys.stderr.write(log)
    report = json.loads((folder / "report.json").read_text())
    report["errors_logged"] += [line for line in log.splitlines() if "[E:onnxruntime" in line]
    return report, ended


def wrong_elements(dtype, values, bounds, output):
    """What is wrong with one output; None if nothing is."""
    if list(output.shape) != list(values.shape):
        return f"shape {list(output.shape)} instead of {list(values.shape)}"
    if output.dtype != numpy.dtype(dtype):
        return f"type {output.dtype} instead of {numpy.dtype(dtype)}"
    given = output.astype("f8")
    with numpy.errstate(invalid="ignore"):
        equal = (given == values) | (numpy.isnan(given) & numpy.isnan(values)) | numpy.isposinf(bounds)
        wrong = ~(equal | (numpy.abs(given - values) <= bounds))
    if not wrong.any():
        return None
    at = tuple(int(index) for index in numpy.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements differ; at {list(at)} {given[at]:g} instead of {values[at]:g}"


def compare_values(report, folder):
    for run, outputs in enumerate(data.load_expected()):
        for index, (dtype, values, bounds) in enumerate(outputs):
            file = folder / f"run_{run}_output_{index}.npy"
            if file.exists() and (problem := wrong_elements(dtype, values, bounds, numpy.load(file))):
                yield f"run {run}, output {index}: {problem}"


def compare_inferred_shapes(report):
    if report["executed"] or len(data.EXPECTED) != 1:
        return
    for index, (shape, expected) in enumerate(zip(report["inferred_shapes"] or [], data.EXPECTED[0])):
        known = isinstance(shape, list) and all(isinstance(extent, int) and extent >= 0 for extent in shape)
        if known and shape != list(expected[1]):
            yield f"output {index} is inferred as {shape} instead of {list(expected[1])}"


def problems(report, ended, folder):
    """Everything in which the backend does not do what ONNX defines, one sentence each."""
    stage, error = report["stage"], report["error"]
    if ended:
        yield f"{stage}: {ended}"
    elif not data.VALID:
        if not error:
            yield f"the model is invalid, and the backend accepts it (stage {stage})"
    elif error:
        yield f"{stage} fails: {error}"
    else:
        yield from compare_inferred_shapes(report)
        yield from compare_values(report, folder)
        yield from report["differing_repetitions"]
        yield from report["fallbacks"]
        if data.KIND == "error-logged":
            yield from (f"an error is logged: {line}" for line in report["errors_logged"])


def main():
    arguments = sys.argv[1:] or data.DEFAULT
    with tempfile.TemporaryDirectory() as folder:
        report, ended = run_model(arguments, pathlib.Path(folder))
        print(report["backend"] or " ".join(arguments))
        if report["unavailable"]:
            print(f"cannot tell: {report['unavailable']}")
            return CANNOT_TELL
        found = list(problems(report, ended, pathlib.Path(folder)))
    for problem in found:
        print(problem)
    if found:
        print(f"the bug shows (reported as {data.KIND or 'a difference'})")
        return SHOWS
    if not report["executed"] and data.VALID and data.KIND in NEEDS_EXECUTION:
        print(f"cannot tell: {report['skipped'] or 'the model was not executed'}")
        return CANNOT_TELL
    print("the bug does not show")
    return DOES_NOT_SHOW


NEEDS_EXECUTION = (
    "", "wrong-values", "wrong-dtype", "unwritten-output", "nondeterministic", "unstable", "state-dependent", "disagree"
)


if __name__ == "__main__":
    sys.exit(main())
