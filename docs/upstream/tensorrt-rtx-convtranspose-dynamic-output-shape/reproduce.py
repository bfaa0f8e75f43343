"""ConvTranspose with output_shape and a symbolic spatial dimension is refused

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py onnxruntime` runs the same model in ONNX Runtime.
No GPU is needed: TensorRT-RTX only parses the model.
"""

import pathlib
import sys

try:
    import numpy
except ImportError as error:
    print(error)
    sys.exit(2)

MODEL = pathlib.Path(__file__).with_name("model.onnx")
INPUTS = {
    "x": numpy.array([[[[1.0]]]], "float32"),
}
EXPECTED = numpy.array([[[[1.0, 2.0]]]], "float32")


def tensorrt_rtx():
    import tensorrt_rtx

    logger = tensorrt_rtx.Logger(tensorrt_rtx.Logger.ERROR)
    builder = tensorrt_rtx.Builder(logger)
    network = builder.create_network()
    parser = tensorrt_rtx.OnnxParser(network, logger)
    if not parser.parse(MODEL.read_bytes()):
        raise RuntimeError(parser.get_error(0).desc())
    # extents of -1 are open until the model is run
    shape = network.get_output(0).shape
    return tuple(known if extent == -1 else extent for extent, known in zip(shape, EXPECTED.shape))


def onnxruntime():
    import onnxruntime

    return onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


run = onnxruntime if "onnxruntime" in sys.argv else tensorrt_rtx
try:
    found = run()
except ImportError as error:
    print(error)
    sys.exit(2)
except Exception as error:
    sys.exit(f"refused: {error}")
if isinstance(found, tuple):
    print(f"expected {EXPECTED.shape}, found {found}")
    sys.exit(0 if found == EXPECTED.shape else 1)
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED) else 1)
