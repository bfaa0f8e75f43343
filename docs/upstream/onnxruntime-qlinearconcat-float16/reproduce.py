"""QDQ Concat with FLOAT16 scales is fused to a QLinearConcat that is refused

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py unoptimized` runs the same model without graph optimizations.
"""

import pathlib
import sys

try:
    import numpy
except ImportError as error:
    print(error)
    sys.exit(2)

MODEL = str(pathlib.Path(__file__).with_name("model.onnx"))
INPUTS = {
    "a": numpy.array([1.0], "float16"),
    "b": numpy.array([2.0], "float16"),
}
EXPECTED = numpy.array([1.0, 2.0], "float16")


def onnxruntime():
    import onnxruntime

    return onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


def unoptimized():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


run = unoptimized if "unoptimized" in sys.argv else onnxruntime
try:
    found = numpy.asarray(run())
except ImportError as error:
    print(error)
    sys.exit(2)
except Exception as error:
    sys.exit(f"refused: {error}")
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED, equal_nan=found.dtype.kind == "f") else 1)
