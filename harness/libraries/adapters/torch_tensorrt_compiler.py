"""Torch-TensorRT's two front ends, and what they leave to PyTorch."""

import logging
import re

import tensorrt
import torch
import torch_tensorrt
import worker_protocol
from torch._subclasses.fake_tensor import FakeTensorMode

import torch_operators

QUANTIZERS = (torch_operators.fake_quantize_per_tensor, torch_operators.fake_quantize_per_channel)
PLACE = "PyTorch"
NOTHING = "no node runs in TensorRT"
INTEGERS = "integers as outputs"
# a line of a module's generated code assigns the value of a node; traces name the line
ASSIGNED = re.compile(r"^\s*(\w+) = ", re.MULTILINE)
LINE = re.compile(r"<eval_with_key>\.\d+\((\d+)\): forward")
# operators of graphs that compute nothing
GLUE = {"<built-in function getitem>", "aten::detach"}

torch_tensorrt.logging.set_reportable_log_level(torch_tensorrt.logging.Level.Error)
logging.getLogger("torch_tensorrt").setLevel(logging.ERROR)
# what stays in PyTorch is not what is tested: its own kernels are enough
torch.backends.cudnn.enabled = False


class Compiler:
    """A front end of Torch-TensorRT."""

    version = torch_tensorrt.__version__.split("+")[0]
    quantization, limitations = "unstated", []
    # 32-bit floats stay what they are: the module is compiled without TF32
    arithmetic = {"operands": "exact", "algorithms": "any"}
    capabilities = [
        {
            "rule": "torch-tensorrt-nothing-in-tensorrt",
            "source": "the compiled module: Torch-TensorRT has no converter for any of its operators, so that PyTorch would run all of them",
            "refuses": {"all": []},
            "shows": {"stage": "build", "words": NOTHING},
        },
        {
            "rule": "torch-tensorrt-no-integer-inputs",
            "source": "Torch-TensorRT 2.2.0, torch_tensorrt/_Input.py: \"support: bool, int32, long, half, float\"",
            "refuses": {"all": []},
            "shows": {"stage": "build", "words": "unsupported data type as an input data type"},
        },
        {
            "rule": "torch-tensorrt-no-integer-outputs",
            "source": "pytorch-quantization: quantized values are floats between fake quantizers, and no module returns their integers",
            "refuses": {"all": []},
            "shows": {"stage": "build", "words": INTEGERS},
        },
    ]

    def __init__(self, level):
        # TensorRT loads its kernels with the first builder and drops them with the last, which takes seconds each time
        self.builder = tensorrt.Builder(tensorrt.Logger(tensorrt.Logger.ERROR))
        # builds time kernels, except at the lowest level
        self.device_use = "shared" if level == "0" else "alone"
        self.settings = {"min_block_size": 1, "disable_tf32": True}

    def build(self, converted, runs):
        module, nodes = converted
        for run in runs:
            if any(output in torch_operators.INTEGERS for output in output_types(module, run)):
                raise worker_protocol.Refused("integer-outputs", f"a module of PyTorch does not have {INTEGERS}")
        module = module.cuda()
        compiled = Compiled()
        for part in self.together(module, runs):
            one = self.compile(module, self.inputs(module, part), self.precisions(module, part))
            compiled.add(part, one, self.engines(one), self.elsewhere(one, module.code, nodes))
        return compiled

    def together(self, module, runs):
        """The runs in parts, each of which has a compiled module of its own."""
        return list({shapes(run): [run] for run in runs}.values())

    def inputs(self, module, runs):
        """What the front ends need to know of the inputs: shapes from the smallest to the largest, the best for the first run."""
        names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
        inputs = []
        for name, seen in zip(names, zip(*runs)):
            dtype, extents = seen[0][0], [shape for _, shape in seen]
            if len(set(extents)) == 1:
                inputs.append(torch_tensorrt.Input(shape=extents[0], dtype=dtype, name=name))
                continue
            smallest, largest = (tuple(map(bound, zip(*extents))) for bound in (min, max))
            inputs.append(torch_tensorrt.Input(min_shape=smallest, opt_shape=extents[0], max_shape=largest, dtype=dtype, name=name))
        return inputs

    def precisions(self, module, runs):
        """32-bit floats, and what else the model itself uses."""
        types = {tensor.dtype for tensor in module.buffers()} | {dtype for run in runs for dtype, _ in run}
        return {torch.float32} | types & {torch.float16}


class Dynamo(Compiler):
    """`ir="dynamo"`: torch.export, and converters in Python."""

    # to torch.export each extent of each input varies by itself, from 2 on: a module for each set of shapes
    name = "Torch-TensorRT dynamo"

    def __init__(self, level):
        super().__init__(level)
        if level != "default":
            self.settings["optimization_level"] = int(level)

    def compile(self, module, inputs, precisions):
        try:
            return torch_tensorrt.compile(
                module, ir="dynamo", inputs=inputs, enabled_precisions=precisions, output_format="graph_module", **self.settings
            )
        finally:
            torch._dynamo.reset()

    def engines(self, compiled):
        return [name for name, child in compiled.named_children() if not isinstance(child, torch.fx.GraphModule)]

    def elsewhere(self, compiled, code, nodes):
        """The nodes that PyTorch runs: those of the graph itself, and of parts that were no engine."""
        parts = [compiled] + [child for _, child in compiled.named_children() if isinstance(child, torch.fx.GraphModule)]
        left = [node for part in parts for node in part.graph.nodes if node.op == "call_function" and str(node.target) not in GLUE]
        return [stays(str(node.target), ASSIGNED.findall(node.meta.get("stack_trace") or ""), nodes) for node in left]


class TorchScript(Compiler):
    """`ir="ts"`: torch.jit.trace, and converters in C++."""

    name = "Torch-TensorRT ts"

    def together(self, module, runs):
        """All runs, unless a trace for one would be wrong for another: it has paddings that depend on extents as constants."""
        depends = any(is_padded_by_extents(node.kwargs) for node in module.graph.nodes)
        return super().together(module, runs) if depends else [runs]

    def precisions(self, module, runs):
        quantizes = any(node.target in QUANTIZERS for node in module.graph.nodes)
        return super().precisions(module, runs) | ({torch.int8} if quantizes else set())

    def compile(self, module, inputs, precisions):
        examples = [each.torch_tensor.cuda() for each in inputs]
        traced = torch.jit.trace(module, examples, check_trace=False)
        return torch_tensorrt.compile(traced, ir="ts", inputs=inputs, enabled_precisions=precisions, **self.settings)

    def engines(self, compiled):
        return [node.inputsAt(1).node().s("name") for node in every_node(compiled.graph) if node.kind() == "tensorrt::execute_engine"]

    def elsewhere(self, compiled, code, nodes):
        lines = code.splitlines()
        left = [node for node in every_node(compiled.graph) if node.kind().startswith("aten::") and node.kind() not in GLUE]
        return [stays(node.kind(), assigned(node.sourceRange(), lines), nodes) for node in left]


COMPILERS = {"dynamo": Dynamo, "ts": TorchScript}


def output_types(module, run):
    """The types of the outputs for these inputs, or what PyTorch itself says against them. Nothing is computed."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        outputs = module(*(torch.empty(shape, dtype=dtype) for dtype, shape in run))
    return [output.dtype for output in (outputs if isinstance(outputs, tuple) else [outputs])]


def is_padded_by_extents(attributes):
    return attributes.get("auto_pad") in torch_operators.AUTOMATIC or "output_shape" in attributes


def shapes(run):
    return tuple(shape for _, shape in run)


def every_node(graph):
    for node in graph.nodes():
        yield node
        for block in node.blocks():
            yield from every_node(block)


def assigned(trace, lines):
    """The nodes of a module whose lines of code a trace names."""
    numbers = [int(number) - 1 for number in LINE.findall(trace)]
    return [name for number in numbers if number < len(lines) for name in ASSIGNED.findall(lines[number])]


def layer(name, operator, **known):
    return {"name": name, "operator": operator, "inputs": [], "outputs": [], "weights": None, "tactic": None, "placement": None, "nodes": []} | known


def stays(operator, assigned, nodes):
    """A node that PyTorch runs, with the ONNX nodes that it comes from as far as they are known."""
    return layer(operator, operator, placement=PLACE, nodes=sorted({nodes[name] for name in assigned if name in nodes}))


class Compiled:
    """What Torch-TensorRT made of a module: one for all shapes of inputs, or one for each."""

    def __init__(self):
        self.modules, self.layers = {}, []

    def add(self, runs, module, engines, elsewhere):
        if not engines:
            operators = sorted({each["operator"] for each in elsewhere})
            raise worker_protocol.Refused("nothing-in-tensorrt", f"{NOTHING}: {', '.join(operators)}")
        self.modules |= {shapes(run): module for run in runs}
        # what an inspector says of an engine is not asked for: TensorRT 8.6 then logs that destroying the engine is an error
        self.layers += [layer(engine, "TensorRT engine") for engine in engines] + elsewhere

    def precision(self):
        return {"source": "node-placement", "layers": self.layers}

    def run(self, inputs, names):
        module = self.modules[tuple(tuple(each.shape) for each in inputs)]
        outputs = module(*(each.cuda() for each in inputs))
        return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs], {}
