"""Torch-TensorRT's two front ends, and what they leave to PyTorch."""

import json
import logging
import re

import torch
import torch_tensorrt
import worker_protocol
from torch._subclasses.fake_tensor import FakeTensorMode

import torch_operators

QUANTIZERS = (torch_operators.fake_quantize_per_tensor, torch_operators.fake_quantize_per_channel)
PLACE = "PyTorch"
NOTHING = "no node runs in TensorRT"
# a line of a module's generated code assigns the value of a node; traces name the line
ASSIGNED = re.compile(r"^\s*(\w+) = ", re.MULTILINE)
LINE = re.compile(r"<eval_with_key>\.\d+\((\d+)\): forward")
# operators of graphs that compute nothing
GLUE = {"<built-in function getitem>", "aten::detach"}
DATATYPES = {"FP32": "FLOAT", "Float": "FLOAT", "FP16": "FLOAT16", "Half": "FLOAT16", "Int8": "INT8", "Int32": "INT32", "Bool": "BOOL"}

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
            "refuses": {"any": [{"dtype": "INT8"}, {"dtype": "UINT8"}, {"dtype": "BFLOAT16"}]},
            "shows": {"stage": "build", "words": "unsupported data type as an input data type"},
        },
    ]

    def __init__(self, level):
        # builds time kernels, except at the lowest level
        self.device_use = "shared" if level == "0" else "alone"
        self.settings = {"min_block_size": 1, "disable_tf32": True}

    def build(self, converted, runs):
        module, nodes = converted
        for run in runs:
            can_run(module, run)
        module = module.cuda()
        compiled = self.compile(module, self.inputs(module, runs), self.precisions(module, runs))
        engines, elsewhere = self.engines(compiled), self.elsewhere(compiled, module.code, nodes)
        if not engines:
            raise worker_protocol.Refused("nothing-in-tensorrt", f"{NOTHING}: {', '.join(sorted({each['operator'] for each in elsewhere}))}")
        return Compiled(compiled, [layer for engine in engines for layer in layers(engine)] + elsewhere)

    def inputs(self, module, runs):
        """What the front ends need to know of the inputs: shapes from the smallest to the largest, the best for the first run."""
        names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
        inputs = []
        for name, seen in zip(names, zip(*runs)):
            dtype, shapes = seen[0][0], [shape for _, shape in seen]
            if len(set(shapes)) == 1:
                inputs.append(torch_tensorrt.Input(shape=shapes[0], dtype=dtype, name=name))
                continue
            smallest, largest = (tuple(map(bound, zip(*shapes))) for bound in (min, max))
            inputs.append(torch_tensorrt.Input(min_shape=smallest, opt_shape=shapes[0], max_shape=largest, dtype=dtype, name=name))
        return inputs

    def precisions(self, module, runs):
        """32-bit floats, and what else the model itself uses."""
        types = {tensor.dtype for tensor in module.buffers()} | {dtype for run in runs for dtype, _ in run}
        return {torch.float32} | types & {torch.float16}


class Dynamo(Compiler):
    """`ir="dynamo"`: torch.export, and converters in Python."""

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
        return [child.get_layer_info for _, child in compiled.named_children() if hasattr(child, "get_layer_info")]

    def elsewhere(self, compiled, code, nodes):
        """The nodes that PyTorch runs: those of the graph itself, and of parts that were no engine."""
        parts = [compiled] + [child for _, child in compiled.named_children() if isinstance(child, torch.fx.GraphModule)]
        left = [node for part in parts for node in part.graph.nodes if node.op == "call_function" and str(node.target) not in GLUE]
        return [stays(str(node.target), ASSIGNED.findall(node.meta.get("stack_trace") or ""), nodes) for node in left]


class TorchScript(Compiler):
    """`ir="ts"`: torch.jit.trace, and converters in C++."""

    name = "Torch-TensorRT ts"

    def precisions(self, module, runs):
        quantizes = any(node.target in QUANTIZERS for node in module.graph.nodes)
        return super().precisions(module, runs) | ({torch.int8} if quantizes else set())

    def compile(self, module, inputs, precisions):
        examples = [each.torch_tensor.cuda() for each in inputs]
        traced = torch.jit.trace(module, examples, check_trace=False)
        return torch_tensorrt.compile(traced, ir="ts", inputs=inputs, enabled_precisions=precisions, debug=True, **self.settings)

    def engines(self, compiled):
        names = [node.inputsAt(1).node().s("name") for node in every_node(compiled.graph) if node.kind() == "tensorrt::execute_engine"]
        return [getattr(compiled, name).get_engine_layer_info for name in names]

    def elsewhere(self, compiled, code, nodes):
        lines = code.splitlines()
        left = [node for node in every_node(compiled.graph) if node.kind().startswith("aten::") and node.kind() not in GLUE]
        return [stays(node.kind(), assigned(node.sourceRange(), lines), nodes) for node in left]


COMPILERS = {"dynamo": Dynamo, "ts": TorchScript}


def can_run(module, run):
    """Raises what PyTorch itself says of the module for these inputs. Nothing is computed."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        module(*(torch.empty(shape, dtype=dtype) for dtype, shape in run))


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


def layers(layer_information):
    """The layers of an engine, as far as its inspector describes them."""
    found = json.loads(layer_information() or "{}").get("Layers", [])
    return [layer(each, "TensorRT") if isinstance(each, str) else described(each) for each in found]


def described(each):
    weights, tactic = each.get("Weights"), each.get("TacticName")
    types = {place.lower(): [dtype for port in each.get(place, []) if (dtype := datatype(port))] for place in ("Inputs", "Outputs")}
    return layer(
        each.get("Name", ""), each.get("LayerType", "TensorRT"), tactic=tactic,
        weights=DATATYPES.get(weights.get("Type")) if isinstance(weights, dict) else None, **types,
    )


def datatype(port):
    words = str(port.get("Format/Datatype", "")).split()
    return next((DATATYPES[word] for word in reversed(words) if word in DATATYPES), None)


class Compiled:
    """A module that Torch-TensorRT compiled."""

    def __init__(self, module, layers):
        self.module, self.layers = module, layers

    def precision(self):
        return {"source": "engine-inspector", "layers": self.layers}

    def run(self, inputs, names):
        outputs = self.module(*(each.cuda() for each in inputs))
        return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs], {}
