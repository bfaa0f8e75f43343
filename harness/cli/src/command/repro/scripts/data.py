"""What reproduce.py runs and expects; load_data() also works as a data loader of `polygraphy`."""

import pathlib

import numpy

HERE = pathlib.Path(__file__).parent
# the arguments of reproduce.py if none are given
DEFAULT = []
# what each backend that the bug was reported for is, and the arguments for it
COMMANDS = []
# the kind of bug that was reported, and with it the kinds of what follows from it
KIND = ""
KINDS = []
# whether the ONNX specification allows the model
VALID = True
# whether the graph asks for quantized, or for half-precision, operators
QUANTIZED = False
HALF = False
# nodes that the graph asks to run quantized and that were reported to run in another precision
FALLBACK_NODES = []
# models to run first in the same process, each with its runs
PRECEDING = []
# per run and input name: file, type and shape
RUNS = []
# per run and output: type, shape, file of the exact values, file of the largest allowed deviations (both as 64-bit floats)
EXPECTED = []


def read(file, dtype, shape):
    return numpy.fromfile(HERE / file, dtype=dtype).reshape(shape)


def load(runs):
    for run in runs:
        yield {name: read(*tensor) for name, tensor in run.items()}


def load_data():
    yield from load(RUNS)


def load_expected():
    for run in EXPECTED:
        yield [(dtype, read(values, "<f8", shape), read(bounds, "<f8", shape)) for dtype, shape, values, bounds in run]
