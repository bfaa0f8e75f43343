"""A twinfer worker around Torch-TensorRT, and around PyTorch itself.

A model becomes a module of PyTorch, as a user of PyTorch writes it. With `ir=dynamo` and `ir=ts` Torch-TensorRT compiles the
module through that front end; with `ir=eager` PyTorch runs it on the CPU, which shows whether the module computes what the model says.
"""

import os
import re
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import worker_protocol

# errors of Torch-TensorRT name the source file of its converter, in Python or in C++
# what torch.fx adds to an error: the call with the addresses of its objects, and where on this machine it was written
EXECUTED = re.compile(r"\s*While executing .*", re.DOTALL)
THROWN = re.compile(r"Error thrown at (?:\S*/)?([\w.]+):\d+")
# after these no call to CUDA succeeds
LOST = re.compile(r"CUDA error: (?!invalid|out of memory)|illegal memory access|device-side assert")


# whatever the graph: these rules tell by the words of the error alone
ANY = {"all": []}


def inexpressible(rule, source, refuses, words):
    """What PyTorch has no function for. The conversion says so in these words, while it reads the model or runs its module."""
    return {"rule": rule, "source": source, "refuses": refuses, "shows": {"words": words}}


CAPABILITIES = [
    inexpressible(
        "torch-no-integer-convolution",
        "PyTorch 2.2, torch.nn.functional: convolutions of floats; those of torch.ao.nn.quantized are not for CUDA",
        {"any": [{"operator": "QLinearConv"}, {"operator": "ConvInteger"}]},
        "torch.nn.functional has no",
    ),
    inexpressible(
        "torch-crops-both-ends-alike",
        "PyTorch 2.2, torch.nn.ConvTranspose2d: padding is one number an axis; output_padding is below the stride or the dilation",
        ANY,
        "crops both ends alike",
    ),
    inexpressible(
        "torch-pools-both-ends-alike",
        "PyTorch 2.2, torch.nn.MaxPool2d and AvgPool2d: padding is one number an axis, half of the kernel at most",
        ANY,
        "pads both ends alike",
    ),
    inexpressible(
        "torch-constant-scales",
        "pytorch-quantization: a quantizer keeps its scale and its zero point as attributes of the module",
        {"any": ["computed-scale", "computed-zero-point"]},
        "constant scales and zero points",
    ),
]


class TorchTensorRt(worker_protocol.Backend):
    capabilities = CAPABILITIES
    options = {"ir": ["dynamo", "ts", "eager"], "level": ["default", "0", "1", "2", "3", "4", "5"]}

    def __init__(self, ir, level):
        import onnx
        import torch

        import torch_module

        if level != "default" and ir != "dynamo":
            raise worker_protocol.Fault("level is an option of ir=dynamo: the other front ends have none", "variant")
        torch.set_grad_enabled(False)
        torch.set_num_threads(1)
        self.onnx, self.torch, self.torch_module = onnx, torch, torch_module
        if ir == "eager":
            self.engine = PyTorch(torch)
        elif not torch.cuda.is_available():
            raise worker_protocol.Fault(f"torch-tensorrt with ir={ir} needs an NVIDIA GPU with a driver for CUDA 12: ir=eager needs none")
        else:
            import torch_tensorrt_compiler

            self.engine = torch_tensorrt_compiler.COMPILERS[ir](level)
        for name in ("name", "version", "limitations", "arithmetic", "quantization", "device_use"):
            setattr(self, name, getattr(self.engine, name))
        self.capabilities = CAPABILITIES + self.engine.capabilities
        self.types = {self.onnx.TensorProto.DataType.Name(number): dtype for number, dtype in torch_module.TYPES.items()}

    def parse(self, model):
        model = self.onnx.load_model_from_string(model)
        # PyTorch reads no ONNX: whether a model is valid is for the checker to say. It demands shapes that ONNX leaves optional
        if all(each.type.tensor_type.HasField("shape") for each in [*model.graph.input, *model.graph.output]):
            self.onnx.checker.check_model(model, full_check=True)
        return self.torch_module.convert(model)

    def build(self, converted, runs):
        inputs = [[(self.types[each["dtype"]], tuple(each["shape"])) for each in run] for run in runs]
        return self.engine.build(converted, inputs)

    def precision(self, built):
        return built.precision()

    def run(self, built, inputs, names):
        return built.run(inputs, names)

    def refusal(self, error):
        """The source file that raised the error tells errors apart, as far as it is one of Torch-TensorRT."""
        text = str(error)
        if LOST.search(text):
            raise SystemExit(f"the CUDA context is lost: {text}")
        thrown = THROWN.findall(text)
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/torch_tensorrt/" in frame.filename]
        named = thrown[-1:] or [f"{os.path.basename(frame.filename)} {frame.name}" for frame in frames[-1:]]
        code = named[0] if named else getattr(error, "code", type(error).__name__)
        return code, EXECUTED.sub("", text)

    def from_bytes(self, part, dtype, shape):
        return self.torch_module.from_bytes(part, self.types[dtype], shape)

    def described(self, tensor):
        names = {dtype: name for name, dtype in self.types.items()}
        plain = tensor.contiguous().cpu()
        # numpy has no bfloat16
        bits = plain.view(self.torch.int16) if plain.dtype == self.torch.bfloat16 else plain
        return names[tensor.dtype], list(tensor.shape), bits.numpy().tobytes()


class PyTorch:
    """PyTorch without Torch-TensorRT, on the CPU."""

    name, device_use = "PyTorch CPU", None
    arithmetic, quantization, capabilities = {"subnormals": "gradual"}, "simulates", []
    limitations = [
        {
            "rule": "torch-fake-quantize-of-infinity",
            "source": "seen in 2.2.0: torch.fake_quantize_per_tensor_affine converts to a 64-bit integer before it saturates, "
            "so that infinity becomes the lowest integer",
            "concerns": {"operator": "QuantizeLinear"},
            "effect": "wrong-values",
            "mutants": ["quantized-through-int32"],
        },
    ]

    def __init__(self, torch):
        self.version = torch.__version__.split("+")[0]

    def build(self, converted, inputs):
        module, nodes = converted
        return Eager(module)


class Eager:
    """A module that PyTorch runs."""

    def __init__(self, module):
        self.module = module

    def precision(self):
        return None

    def run(self, inputs, names):
        outputs = self.module(*inputs)
        return list(outputs) if isinstance(outputs, tuple) else [outputs], {}


if __name__ == "__main__":
    worker_protocol.serve("torch-tensorrt", TorchTensorRt)
