"""A twinfer worker around the Python package MNN: its converter, then its modules."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import onnx_model
import printed_text
import worker_protocol

TYPES = {"FLOAT": "float32", "INT8": "int8", "UINT8": "uint8", "INT32": "int32", "INT64": "int64", "BOOL": "bool"}
# MNN's names of the types in which it holds elements. "int" has 32 bits: docs/faq.md says to give it INT64 that way
HELD_AS = {"FLOAT": "float", "INT8": "int8", "UINT8": "uint8", "INT32": "int", "INT64": "int", "BOOL": "int"}
CONVERSION = "tools/converter/source/optimizer/onnxextra/OnnxConvolutionMerge.cpp of 3.6.1"
# MNN folds what constants alone determine; which operands it cannot fold, only its errors say
UNFOLDED = {"all": []}
CAPABILITIES = [
    {
        "rule": "mnn-floats-of-32-bits",
        "source": "docs/pymnn/Var.md of 3.6.1 lists no type of 16 bits, and docs/faq.md says to give doubles as floats",
        "refuses": {"any": [{"dtype": "FLOAT16"}, {"dtype": "BFLOAT16"}, {"dtype": "DOUBLE"}]},
    },
    {
        "rule": "mnn-no-integer-convolution",
        "source": "the operators that `MNNConvert -f ONNX --OP` of 3.6.1 lists, as docs/tools/convert.md says",
        "refuses": {"any": [{"operator": "QLinearConv"}, {"operator": "ConvInteger"}]},
        "shows": {"stage": "parse", "words": "These Op Not Support"},
    },
    {
        "rule": "mnn-computed-weights-of-three-axes",
        "source": f"{CONVERSION}: \"Convolution3D should has constant weight\"",
        "refuses": UNFOLDED,
        "shows": {"stage": "parse", "words": "Convolution3D should has constant weight"},
    },
    {
        "rule": "mnn-computed-bias",
        "source": f"{CONVERSION}: \"Conv's bias input should be Constant\"",
        "refuses": UNFOLDED,
        "shows": {"stage": "parse", "words": "Conv's bias input should be Constant"},
    },
]
# what is printed about every model
ROUTINE = (
    "Start to ", "ONNX Model ", "Check it out ", "inputTensors", "outputTensors", "Converted ", "MNN use ", "**Tensor shape**",
    "The Convolution use shared weight", "code=",
)
PREFIX = re.compile(r"^\[[\d:]+\] \S*:\d+: ")
# names and numbers of one model
PARTICULARS = re.compile(r"(?<=Op )\S+(?= ,)|(?<=Error for )\S+$|(?<=output )\S+(?= from)|\S*\d\S*")


class MnnError(Exception):
    """MNN did not do what it was asked to do. It prints why, or raises a SystemError from the reason."""

    def __init__(self, lines):
        stripped = [PREFIX.sub("", line.strip()) for line in lines]
        reasons = [line for line in stripped if line and not line.startswith(ROUTINE)] or ["no reason printed"]
        super().__init__("; ".join(dict.fromkeys(reasons)))
        # "Convolution3D" and the names of operators belong to the reason
        is_general = reasons[0].startswith(("These Op Not Support", "Convolution3D"))
        self.code = reasons[0] if is_general else PARTICULARS.sub(" ", reasons[0])


def asked(function, *arguments, **options):
    """What the function of MNN returns."""
    with printed_text.collected() as lines:
        try:
            result, raised = function(*arguments, **options), []
        except SystemError as error:
            result, raised = None, [str(error.__cause__ or error)]
    if not result:
        raise MnnError([*lines, *raised])
    return result


class Mnn(worker_protocol.Backend):
    name = "MNN CPU"
    types = TYPES
    capabilities = CAPABILITIES
    # it computes convolutions by Winograd's algorithm, too
    arithmetic = {"algorithms": "any"}

    def __init__(self):
        # not MNN.tools: importing it installs packages and opens a connection
        with printed_text.collected():
            import _tools
            import MNN
            import MNN.expr
            import MNN.nn
        import numpy

        self.tools, self.expr, self.nn, self.numpy = _tools, MNN.expr, MNN.nn, numpy
        self.version = MNN.version()
        # the converter writes a file to the current folder, which workers must not share
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)
        # one thread, because workers are processes
        configuration = ({"backend": "CPU", "precision": "high", "numThread": 1},)
        self.runtime = asked(MNN.nn.create_runtime_manager, configuration)

    def parse(self, model):
        names = [list(onnx_model.input_names(model)), list(onnx_model.output_names(model))]
        declared = [TYPES.get(onnx_model.element_type(value)) for value in onnx_model.outputs(model)]
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.mnn")
            with open(source, "wb") as file:
                file.write(model)
            return asked(self.converted, source, target), names, declared

    def converted(self, source, target):
        """The model in MNN's format; None if the converter does not write it."""
        self.tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "twinfer"])
        if not os.path.exists(target):
            return None
        with open(target, "rb") as file:
            return file.read()

    def build(self, parsed, runs):
        model, names, declared = parsed
        with tempfile.NamedTemporaryFile(suffix=".mnn") as file:
            file.write(model)
            file.flush()
            return asked(self.nn.load_module_from_file, file.name, *names, runtime_manager=self.runtime), declared

    def run(self, built, inputs, names):
        module, declared = built
        outputs = asked(module.onForward, inputs)
        (results,) = asked(lambda: [[self.to_numpy(output) for output in outputs]])
        return [held(result, dtype) for result, dtype in zip(results, declared)], {}

    def to_numpy(self, output):
        if 0 in output.shape:
            # it cannot be read
            return self.numpy.zeros(output.shape, numpy_name(output.dtype))
        variable = self.expr.convert(output, self.expr.NCHW)
        # the array that it returns is the variable's memory
        return variable.read().copy()

    def from_bytes(self, part, dtype, shape):
        array = super().from_bytes(part, dtype, shape)
        if HELD_AS[dtype] == "int":
            array = array.astype("int32")
        # it does not take arrays of 8-bit integers
        data = array.ravel().tolist() if dtype == "INT8" else array
        return self.expr.const(data, list(shape), self.expr.NCHW, getattr(self.expr, HELD_AS[dtype]))


def numpy_name(dtype):
    """numpy's name of a type of MNN, which is written `dtype.float`."""
    name = str(dtype).rpartition(".")[2]
    return {"float": "float32", "int": "int32"}.get(name, name)


def held(result, declared):
    """An output in the element type that the model declares, if MNN holds that as 32-bit integers."""
    return result.astype(declared) if result.dtype == "int32" and declared in ("int64", "bool") else result


if __name__ == "__main__":
    worker_protocol.serve("mnn", Mnn)
