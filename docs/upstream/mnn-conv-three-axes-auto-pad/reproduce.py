"""Conv of three spatial axes with auto_pad SAME is not padded

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py onnxruntime` runs the same model in ONNX Runtime.
"""

import os
import pathlib
import sys
import tempfile

try:
    import numpy
except ImportError as error:
    print(error)
    sys.exit(2)

MODEL = str(pathlib.Path(__file__).with_name("model.onnx"))
FOLDER = tempfile.TemporaryDirectory()
INPUTS = {
    "x": numpy.array([[[[[1.0, 2.0]]]]], "float32"),
}
EXPECTED = numpy.array([[[[[3.0, 2.0]]]]], "float32")


def mnn():
    import _tools  # importing MNN.tools in its place would install packages
    from MNN import expr, nn

    # the converter writes to the current folder, too
    os.chdir(FOLDER.name)
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", MODEL, "--MNNModel", "model.mnn", "--bizCode", "MNN"])
    module = nn.load_module_from_file("model.mnn", ["x"], ["y"])
    (output,) = module.onForward([expr.const(INPUTS["x"], list(INPUTS["x"].shape), expr.NCHW, expr.float)])
    return expr.convert(output, expr.NCHW).read().copy()


def onnxruntime():
    import onnxruntime

    return onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


run = onnxruntime if "onnxruntime" in sys.argv else mnn
try:
    found = numpy.asarray(run())
except ImportError as error:
    print(error)
    sys.exit(2)
except Exception as error:
    sys.exit(f"refused: {error}")
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED, equal_nan=found.dtype.kind == "f") else 1)
