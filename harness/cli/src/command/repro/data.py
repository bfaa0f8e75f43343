"""The inputs of each run; `polygraphy` takes load_data() as its data loader."""

import pathlib

import numpy

HERE = pathlib.Path(__file__).parent
# a run: for each input the file of its bytes, its type and its shape
RUNS = []


def load_data():
    for run in RUNS:
        yield {
            name: numpy.fromfile(HERE / path, dtype=dtype).reshape(shape)
            for name, (path, dtype, shape) in run.items()
        }
