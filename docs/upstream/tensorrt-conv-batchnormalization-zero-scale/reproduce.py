"""BatchNormalization whose scale is 0 after a quantized Conv of three spatial axes gives infinity

Exit status: 1, the bug shows; 0, it does not; 2, a package or the GPU is missing. `reproduce.py onnxruntime` runs the same model in ONNX Runtime.
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
    "x": numpy.array([[[[[3.0]]]]], "float32"),
}
EXPECTED = numpy.array([[[[[5.0]]], [[[8.0]]]]], "float32")


def tensorrt():
    import tensorrt
    from polygraphy.backend.trt import CreateConfig, EngineFromNetwork, NetworkFromOnnxPath, TrtRunner
    from polygraphy.logger import G_LOGGER

    G_LOGGER.module_severity = G_LOGGER.ERROR
    # neither cuBLAS nor cuDNN
    tactics = [tensorrt.TacticSource.EDGE_MASK_CONVOLUTIONS, tensorrt.TacticSource.JIT_CONVOLUTIONS]
    config = CreateConfig(tf32=False, int8=True, tactic_sources=tactics)
    with TrtRunner(EngineFromNetwork(NetworkFromOnnxPath(MODEL), config)) as runner:
        return runner.infer(INPUTS)["y"]


def onnxruntime():
    import onnxruntime

    return onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


run = onnxruntime if "onnxruntime" in sys.argv else tensorrt
try:
    found = numpy.asarray(run())
except Exception as error:
    print(f"does not run: {error}")
    sys.exit(2)
print(f"expected {EXPECTED.shape} {EXPECTED.ravel()}, found {found.shape} {found.ravel()}")
sys.exit(0 if numpy.array_equal(found, EXPECTED) else 1)
