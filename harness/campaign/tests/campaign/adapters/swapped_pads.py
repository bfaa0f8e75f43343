"""ONNX Runtime with a planted bug: the begin and end pads of every ConvTranspose are exchanged."""
import pathlib, sys

import onnx, onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).parents[5] / "adapters"))
from onnxruntime_adapter import serve


def swap(model):
    model = onnx.load_from_string(model)
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "ConvTranspose" and attribute.name == "pads":
                middle = len(attribute.ints) // 2
                attribute.ints[:] = attribute.ints[middle:] + attribute.ints[:middle]
    return model.SerializeToString()


serve(lambda model: onnxruntime.InferenceSession(swap(model), providers=["CPUExecutionProvider"]))
