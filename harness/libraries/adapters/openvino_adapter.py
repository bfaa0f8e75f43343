"""A twinfer worker around OpenVINO's CPU plugin."""

import io
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import onnx_model
import worker_protocol

TYPES = {
    "FLOAT": "f32", "FLOAT16": "f16", "BFLOAT16": "bf16", "DOUBLE": "f64", "INT8": "i8", "UINT8": "u8", "INT32": "i32",
    "INT64": "i64", "BOOL": "boolean",
}
# one thread and one stream, because workers are processes; without the hint the plugin may compute 32-bit floats in bfloat16
CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
LOCATION = re.compile(r"(?:from|failed at) (?:\S*/)?([\w.]+):\d+:")


class OpenVino(worker_protocol.Backend):
    name = "OpenVINO CPU"
    fills = ["outputs"]

    def __init__(self):
        import openvino

        self.openvino, self.core = openvino, openvino.Core()
        self.version = openvino.__version__.split("-")[0]

    def parse(self, model):
        return list(onnx_model.input_names(model)), self.core.read_model(io.BytesIO(model))

    def build(self, parsed, runs):
        names, model = parsed
        return names, self.core.compile_model(model, "CPU", CONFIG)

    def run(self, built, inputs, names):
        input_names, compiled = built
        request, given = compiled.create_infer_request(), dict(zip(input_names, inputs))
        for index, port in enumerate(compiled.inputs):
            # inputs that no node reads are gone
            (name,) = port.get_names() & given.keys()
            request.set_input_tensor(index, given[name])
        for index, port in enumerate(compiled.outputs):
            # the others have shapes that only a run shows, and buffers of the plugin
            if port.partial_shape.is_static:
                request.set_output_tensor(index, self.output(port))
        request.infer()
        return [request.get_output_tensor(index) for index in range(len(compiled.outputs))], {}

    def output(self, port):
        """A filled tensor for an output."""
        tensor = self.openvino.Tensor(port.element_type, port.shape)
        if tensor.byte_size:
            tensor.data.reshape(-1).view("uint8")[:] = memoryview(self.filled(self.dtype(tensor), tensor.byte_size))
        return tensor

    def dtype(self, tensor):
        """The protocol's name of a tensor's element type."""
        names = {name: dtype for dtype, name in TYPES.items()}
        return names[tensor.element_type.to_string()]

    def refusal(self, error):
        """The source file that raised the error, innermost last, tells errors apart."""
        text = str(error)
        places = LOCATION.findall(text)
        return (places[-1] if places else type(error).__name__), text

    def from_bytes(self, part, dtype, shape):
        tensor = self.openvino.Tensor(getattr(self.openvino.Type, TYPES[dtype]), self.openvino.Shape(shape))
        if part:
            # numpy has no bfloat16: OpenVINO shows it as another type of two bytes
            tensor.data.reshape(-1).view("uint8")[:] = memoryview(part)
        return tensor

    def described(self, tensor):
        return self.dtype(tensor), list(tensor.shape), tensor.data.tobytes()


if __name__ == "__main__":
    worker_protocol.serve("openvino", OpenVino)
