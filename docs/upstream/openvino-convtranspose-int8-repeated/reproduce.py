"""ConvTranspose of quantized INT8 data: each further run subtracts 128 times a weight

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
# the same inputs, one run after the other
RUNS = [{"x": numpy.array([[[5.0, 5.0]]], "float32")}] * 3
EXPECTED = numpy.array([[[5.0, 5.0, 5.0, 10.0, 5.0, 5.0, 5.0]]], "float32")


def openvino():
    import openvino

    compiled = openvino.Core().compile_model(MODEL, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return [compiled(list(inputs.values()))[0].copy() for inputs in RUNS][-1]


def onnxruntime():
    import onnxruntime

    session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    return [session.run(None, inputs)[0] for inputs in RUNS][-1]


run = onnxruntime if "onnxruntime" in sys.argv else openvino
try:
    found = numpy.asarray(run())
except ImportError as error:
    print(error)
    sys.exit(2)
except Exception as error:
    sys.exit(f"refused: {error}")
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED, equal_nan=found.dtype.kind == "f") else 1)
