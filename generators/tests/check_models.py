"""Judges every model of a folder by programs that did not make it, and prints one JSON line a model.

usage: check_models.py FOLDER

A judge runs in a process of its own, because some models crash one. Each line names the model and gives, by judge, null where it accepts the model or what it says where it refuses:
"checker" is the ONNX checker with full shape inference, "inference" the strict shape inference with data
propagation, "onnxruntime" the creation of an ONNX Runtime session on the CPU without graph optimizations.
"""

import json
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import onnx
import onnxruntime


def check(model):
    onnx.checker.check_model(model, full_check=True)


def infer(model):
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)


def load(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


JUDGES = {"checker": check, "inference": infer, "onnxruntime": load}


def refusal(judge, model):
    try:
        JUDGES[judge](model)
    except Exception as error:  # each judge has exceptions of its own, and any of them is a refusal
        return f"{type(error).__name__}: {error}"[:400]
    return None


class Court:
    """The judges, in a process that is replaced when one of them crashes it."""

    def __init__(self):
        self.process = ProcessPoolExecutor(1)

    def refusal(self, judge, model):
        try:
            return self.process.submit(refusal, judge, model).result()
        except BrokenProcessPool:
            self.process.shutdown()
            self.process = ProcessPoolExecutor(1)
            return "crashed"


def main():
    (folder,) = sys.argv[1:]
    court = Court()
    for path in sorted(pathlib.Path(folder).glob("*.onnx")):
        model = path.read_bytes()
        answers = {judge: court.refusal(judge, model) for judge in JUDGES}
        print(json.dumps({"model": path.stem, **answers}))


if __name__ == "__main__":
    main()
