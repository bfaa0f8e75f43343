"""ReferenceEvaluator: ConvTranspose with several groups of several output channels fails

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py onnxruntime` runs the same model in ONNX Runtime.
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
    "x": numpy.array([[[1.0], [2.0]]], "float32"),
}
EXPECTED = numpy.array([[[1.0], [2.0], [6.0], [8.0]]], "float32")


def onnx():
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(MODEL).run(None, INPUTS)[0]


def onnxruntime():
    import onnxruntime

    return onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


run = onnxruntime if "onnxruntime" in sys.argv else onnx
try:
    found = numpy.asarray(run())
except ImportError as error:
    print(error)
    sys.exit(2)
except Exception as error:
    sys.exit(f"refused: {error}")
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED, equal_nan=found.dtype.kind == "f") else 1)
