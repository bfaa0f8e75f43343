"""ConvTranspose with output_shape: pads are taken from the attribute instead

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
    "x": numpy.array([[[1.0]]], "float32"),
}
EXPECTED = numpy.array([[[2.0]]], "float32")


def tract():
    import tract

    model = tract.onnx().load(MODEL)
    return model.into_model().into_runnable().run(list(INPUTS.values()))[0].to_numpy()


def onnxruntime():
    import onnxruntime

    return onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


run = onnxruntime if "onnxruntime" in sys.argv else tract
try:
    found = numpy.asarray(run())
except ImportError as error:
    print(error)
    sys.exit(2)
except Exception as error:
    sys.exit(f"refused: {error}")
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED, equal_nan=found.dtype.kind == "f") else 1)
