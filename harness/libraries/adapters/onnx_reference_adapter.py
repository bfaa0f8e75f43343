"""A twinfer worker around the reference evaluator of the Python package onnx."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import worker_protocol

NUMPY = ["float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool"]
TYPES = {name.upper(): name for name in NUMPY} | {"FLOAT": "float32", "DOUBLE": "float64"}


CAPABILITIES = [
    {
        "rule": "onnx-reference-dequantize-before-19",
        "source": "onnx 1.23.2, onnx/reference/ops/op_dequantize_linear.py: its oldest class is DequantizeLinear_19; seen in 1.23.2: "
        "\"No implementation for operator 'DequantizeLinear'\"",
        "refuses": {"all": [{"operator": "DequantizeLinear"}, {"opset-below": 19}]},
        "shows": {"stage": "parse", "words": "No implementation for operator 'DequantizeLinear'"},
    },
]


class OnnxReference(worker_protocol.Backend):
    name = "onnx ReferenceEvaluator"
    types = TYPES
    capabilities = CAPABILITIES
    arithmetic = {"subnormals": "gradual"}
    quantization = "simulates"

    def __init__(self):
        import ml_dtypes
        import numpy
        import onnx
        import onnx.reference

        self.numpy, self.onnx, self.bfloat16 = numpy, onnx, numpy.dtype(ml_dtypes.bfloat16)
        self.version = onnx.__version__

    def parse(self, model):
        model = self.onnx.load_model_from_string(model)
        self.onnx.checker.check_model(model, full_check=True)
        return self.onnx.reference.ReferenceEvaluator(model)

    def run(self, evaluator, inputs, names):
        values = evaluator.run(None, dict(zip(evaluator.input_names, inputs)), intermediate=True)
        arrays = {name: self.numpy.asarray(value) for name, value in values.items() if name}
        return [arrays[name] for name in evaluator.output_names], {name: arrays[name] for name in names if name in arrays}

    def from_bytes(self, part, dtype, shape):
        kind = self.bfloat16 if dtype == "BFLOAT16" else self.types[dtype]
        return self.numpy.frombuffer(part, kind).reshape(shape)


if __name__ == "__main__":
    worker_protocol.serve("onnx-reference", OnnxReference)
