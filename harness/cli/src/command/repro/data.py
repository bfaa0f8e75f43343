"""The inputs of each run; load_data() works as a data loader of `polygraphy`."""

import pathlib

import numpy

HERE = pathlib.Path(__file__).parent
# per run and input name: file, type and shape
RUNS = []


def load_data():
    for run in RUNS:
        yield {
            name: numpy.fromfile(HERE / path, dtype=dtype).reshape(shape)
            for name, (path, dtype, shape) in run.items()
        }
