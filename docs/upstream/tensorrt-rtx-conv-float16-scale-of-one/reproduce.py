"""Quantized Conv in FLOAT16 whose weights have one scale along an axis fails to build

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py onnxruntime` runs the same model in ONNX Runtime.
No GPU is needed: TensorRT-RTX builds an engine for compute capability 8.6.
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
    "x": numpy.array([[[3.0]]], "float16"),
}
EXPECTED = numpy.array([[[3.0], [3.0]]], "float16")


def tensorrt_rtx():
    import tensorrt_rtx

    logger = tensorrt_rtx.Logger(tensorrt_rtx.Logger.ERROR)
    builder = tensorrt_rtx.Builder(logger)
    network = builder.create_network()
    parser = tensorrt_rtx.OnnxParser(network, logger)
    if not parser.parse(MODEL.read_bytes()):
        raise RuntimeError(parser.get_error(0).desc())
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(tensorrt_rtx.ComputeCapability.SM86, 0)
    if builder.build_serialized_network(network, config) is None:
        raise RuntimeError("no engine is built")
    return tuple(network.get_output(0).shape)


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
