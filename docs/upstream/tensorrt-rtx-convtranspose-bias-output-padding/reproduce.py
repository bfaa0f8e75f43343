"""ConvTranspose with a computed bias and output_padding: the bias is not added at the positions that output_padding appends

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py onnxruntime` runs the same model in ONNX Runtime.
No GPU is needed: the script reads from the layers of the parsed model where the bias is added.
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
    "b": numpy.array([10.0], "float32"),
}
EXPECTED = numpy.array([[[[12.0, 10.0]]]], "float32")

# without the bias at the position that output_padding adds
WITHOUT = numpy.array([[[[12.0, 0.0]]]], "float32")


def tensorrt_rtx():
    import tensorrt_rtx

    logger = tensorrt_rtx.Logger(tensorrt_rtx.Logger.ERROR)
    builder = tensorrt_rtx.Builder(logger)
    network = builder.create_network()
    parser = tensorrt_rtx.OnnxParser(network, logger)
    if not parser.parse(MODEL.read_bytes()):
        raise RuntimeError(parser.get_error(0).desc())
    # a slice layer at the end appends zeros, and nothing is added to them
    last = network.get_layer(network.num_layers - 1)
    return WITHOUT if last.type == tensorrt_rtx.LayerType.SLICE else EXPECTED


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
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED) else 1)
