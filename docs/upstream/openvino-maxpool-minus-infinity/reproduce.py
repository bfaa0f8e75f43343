"""MaxPool of negative infinity gives the lowest finite number

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py onnx` runs the same model in onnx's reference evaluator.
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
    "x": numpy.array([[[-numpy.inf, -numpy.inf]]], "float32"),
}
EXPECTED = numpy.array([[[-numpy.inf]]], "float32")


def openvino():
    import openvino

    compiled = openvino.Core().compile_model(MODEL, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled(list(INPUTS.values()))[0]


def onnx():
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(MODEL).run(None, INPUTS)[0]


run = onnx if "onnx" in sys.argv else openvino
try:
    found = numpy.asarray(run())
except ImportError as error:
    print(error)
    sys.exit(2)
except Exception as error:
    sys.exit(f"refused: {error}")
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED, equal_nan=found.dtype.kind == "f") else 1)
