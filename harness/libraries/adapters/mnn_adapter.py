"""A twinfer worker around the Python package MNN, with its converter."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import onnx_model
import printed_text
import worker_protocol

NUMPY = {"FLOAT": "float32", "INT8": "int8", "UINT8": "uint8", "INT32": "int32", "INT64": "int64", "BOOL": "bool"}
# what MNN holds them as
HELD_AS = {"FLOAT": "float", "INT8": "int8", "UINT8": "uint8", "INT32": "int", "INT64": "int", "BOOL": "int"}
# the types of outputs by ONNX's numbers
ONNX = {1: "FLOAT", 2: "UINT8", 3: "INT8", 6: "INT32", 7: "INT64", 9: "BOOL"}


class Mnn(worker_protocol.Backend):
    name = "MNN CPU"
    types = NUMPY
    # Winograd's algorithm for convolutions of 3 by 3
    arithmetic = {"algorithms": "any"}

    def __init__(self):
        import _tools
        import MNN
        import MNN.expr
        import MNN.nn
        import numpy

        self.convert, self.expr, self.nn, self.numpy = _tools.mnnconvert, MNN.expr, MNN.nn, numpy
        self.version = MNN.version()
        # one thread, because workers are processes; "high" keeps 32-bit floats
        self.runtime = MNN.nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))

    def parse(self, model):
        inputs, outputs = list(onnx_model.input_names(model)), list(onnx_model.output_names(model))
        declared = [ONNX.get(onnx_model.element_type(value)) for value in onnx_model.values(model, onnx_model.GRAPH_OUTPUT)]
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.mnn")
            with open(source, "wb") as file:
                file.write(model)
            with printed_text.collected() as lines:
                self.convert(["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "twinfer"])
            if not os.path.exists(target):
                raise Printed(lines)
            with open(target, "rb") as file:
                return inputs, outputs, declared, file.read()

    def build(self, parsed, runs):
        inputs, outputs, declared, converted = parsed
        with tempfile.NamedTemporaryFile(suffix=".mnn") as file, printed_text.collected() as lines:
            file.write(converted)
            file.flush()
            try:
                module = self.nn.load_module_from_file(file.name, inputs, outputs, runtime_manager=self.runtime)
            except SystemError as error:
                module = None
        if module is None:
            raise Printed(lines)
        return module, declared

    def run(self, built, inputs, names):
        module, declared = built
        with printed_text.collected() as lines:
            outputs = module.onForward(inputs)
            results = [self.expr.convert(output, self.expr.NCHW).read() for output in outputs]
        if len(results) != len(declared):
            raise Printed(lines)
        return [held(result, dtype) for result, dtype in zip(results, declared)], {}

    def from_bytes(self, part, dtype, shape):
        data = self.numpy.frombuffer(part, NUMPY[dtype])
        kind = getattr(self.expr, HELD_AS[dtype])
        if HELD_AS[dtype] == "int":
            data = data.astype("int32")
        return self.expr.const(data, list(shape), self.expr.NCHW, kind)


class Printed(Exception):
    """MNN printed why it did not do what it was asked to do."""

    def __init__(self, lines):
        super().__init__(" | ".join(lines))
        self.code = "MNN"


def held(result, declared):
    """An output with the element type that the model declares, if MNN holds that as 32-bit integers."""
    return result.astype(NUMPY[declared]) if result.dtype == "int32" and HELD_AS.get(declared) == "int" else result


if __name__ == "__main__":
    worker_protocol.serve("mnn", Mnn)
