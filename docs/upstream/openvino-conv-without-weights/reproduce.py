"""Reading a Conv without weights ends the process (signal 11)

Exit status: 1, the bug shows; 0, it does not; 2, a package is missing. `reproduce.py onnxruntime` runs the same model in ONNX Runtime.
"""

import os
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


def openvino():
    import openvino

    compiled = openvino.Core().compile_model(MODEL, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled(list(INPUTS.values()))[0]


def onnxruntime():
    import onnxruntime

    return onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, INPUTS)[0]


run = onnxruntime if "onnxruntime" in sys.argv else openvino
child = os.fork()
if child == 0:
    try:
        print(run())
    except ImportError as error:
        print(error)
        os._exit(2)
    except Exception as error:
        print(f"refused: {error}")
    os._exit(0)
_, status = os.waitpid(child, 0)
print(f"the process ended with status {os.waitstatus_to_exitcode(status)}")
sys.exit(1 if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status))
