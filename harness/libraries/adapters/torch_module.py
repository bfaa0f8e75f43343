"""Turns an ONNX model into a torch.fx.GraphModule, one call of `torch_operators` a node."""

import keyword
import re

import onnx
import torch
from onnx import numpy_helper

import torch_operators
from torch_operators import Inexpressible

TYPES = {
    onnx.TensorProto.FLOAT: torch.float32, onnx.TensorProto.FLOAT16: torch.float16, onnx.TensorProto.BFLOAT16: torch.bfloat16,
    onnx.TensorProto.DOUBLE: torch.float64, onnx.TensorProto.INT8: torch.int8, onnx.TensorProto.UINT8: torch.uint8,
    onnx.TensorProto.INT32: torch.int32, onnx.TensorProto.INT64: torch.int64, onnx.TensorProto.BOOL: torch.bool,
}
FUNCTIONS = {
    "Add": torch.add, "AveragePool": torch_operators.average_pool, "BatchNormalization": torch_operators.batch_normalization,
    "Clip": torch_operators.clip, "Concat": torch_operators.concat, "Conv": torch_operators.conv,
    "ConvTranspose": torch_operators.conv_transpose, "GlobalAveragePool": torch_operators.global_average_pool,
    "HardSwish": torch.nn.functional.hardswish, "Identity": torch_operators.identity, "LeakyRelu": torch_operators.leaky_relu,
    "MaxPool": torch_operators.max_pool, "Mul": torch.mul, "Relu": torch.relu, "Sigmoid": torch.sigmoid,
    "Transpose": torch_operators.transpose,
}


def from_bytes(data, dtype, shape):
    """A tensor of these elements, which are in ONNX's layout."""
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)


def tensor_of(proto):
    return from_bytes(numpy_helper.to_array(proto).tobytes(), TYPES[proto.data_type], tuple(proto.dims))


def attributes_of(node):
    def value(attribute):
        value = onnx.helper.get_attribute_value(attribute)
        return value.decode() if isinstance(value, bytes) else list(value) if hasattr(value, "__iter__") else value

    return {attribute.name: value(attribute) for attribute in node.attribute}


class Converter:
    """Builds the graph of a model."""

    def __init__(self, model):
        self.model, self.graph, self.root = model.graph, torch.fx.Graph(), torch.nn.Module()
        self.constants = {each.name: tensor_of(each) for each in self.model.initializer}
        self.producers = {name: node for node in self.model.node for name in node.output}
        # fx nodes by the names of their ONNX values, and names of ONNX nodes by those of fx nodes
        self.values, self.nodes = {}, {}

    def module(self):
        for each in self.model.input:
            if each.name not in self.constants:
                self.values[each.name] = self.graph.placeholder(self.plain(each.name))
        # a quantizer whose integers DequantizeLinear alone reads is part of what replaces that
        for node in self.model.node:
            if not self.is_constant(node) and not self.is_fused(node):
                self.values[node.output[0]] = self.call(node)
        outputs = [self.value(each.name) for each in self.model.output]
        self.graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
        return torch.fx.GraphModule(self.root, self.graph).eval()

    def is_constant(self, node):
        if node.op_type == "Constant":
            self.constants[node.output[0]] = tensor_of(node.attribute[0].t)
        return node.op_type == "Constant"

    def plain(self, name):
        """A name that Python and fx take."""
        name = re.sub(r"\W", "_", name)
        return f"_{name}" if not name or name[0].isdigit() or keyword.iskeyword(name) else name

    def value(self, name):
        if name not in self.values and name in self.constants:
            self.values[name] = self.hold(name, self.constants[name])
        return self.values[name] if name else None

    def hold(self, name, tensor):
        """A constant of the module. Two names that are alike to Python get a number."""
        key = f"constant_{self.plain(name)}"
        while hasattr(self.root, key):
            key += "_"
        self.root.register_buffer(key, tensor)
        return self.graph.get_attr(key)

    def call(self, node):
        before = len(self.graph.nodes)
        if node.op_type == "DequantizeLinear":
            result = self.dequantized(node)
        elif node.op_type == "QuantizeLinear":
            scale, zero_point = self.parameters(node)
            result = self.node(torch_operators.quantize, [self.value(node.input[0]), scale, zero_point],
                               {"dtype": self.quantized_type(node), "axis": attributes_of(node).get("axis", 1)})
        elif node.op_type in FUNCTIONS:
            result = self.node(FUNCTIONS[node.op_type], [self.value(name) for name in node.input], attributes_of(node))
        else:
            raise Inexpressible("operator", f"torch.nn.functional has no {node.op_type}")
        for each in list(self.graph.nodes)[before:]:
            self.nodes[each.name] = node.name
        return result

    def node(self, function, tensors, attributes):
        while tensors and tensors[-1] is None:
            tensors.pop()
        return self.graph.call_function(function, tuple(tensors), attributes)

    # quantizers

    def parameters(self, node):
        return self.value(node.input[1]), self.value(node.input[2]) if len(node.input) > 2 else None

    def quantized_type(self, node):
        zero_point = node.input[2] if len(node.input) > 2 else ""
        if zero_point:
            dtype = self.type_of(zero_point)
        else:
            dtype = TYPES.get(attributes_of(node).get("output_dtype", 0)) or torch.uint8
        if dtype not in torch_operators.INTEGERS:
            raise Inexpressible("quantized-type", f"torch.fake_quantize has no {dtype}")
        return dtype

    def type_of(self, name):
        """The element type of a value that a quantizer has as its zero point."""
        if name in self.constants:
            return self.constants[name].dtype
        for each in self.model.input:
            if each.name == name:
                return TYPES[each.type.tensor_type.elem_type]
        producer = self.producers[name]
        return self.quantized_type(producer) if producer.op_type == "QuantizeLinear" else self.type_of(producer.input[0])

    def quantizer_of(self, node):
        """The QuantizeLinear that a DequantizeLinear undoes, if its parameters are the same."""
        producer = self.producers.get(node.input[0])
        if producer is None or producer.op_type != "QuantizeLinear":
            return None
        axes = [attributes_of(each).get("axis", 1) for each in (producer, node)]
        parameters = [[*each.input[1:], ""][:2] for each in (producer, node)]
        return producer if axes[0] == axes[1] and all(map(self.is_same, *parameters)) else None

    def is_same(self, one, other):
        if one == other:
            return True
        one, other = self.constants.get(one), self.constants.get(other)
        return one is not None and other is not None and one.dtype == other.dtype and torch.equal(one, other)

    def is_fused(self, node):
        """Whether DequantizeLinear nodes that undo it are all that reads this quantizer."""
        if node.op_type != "QuantizeLinear" or node.output[0] in {each.name for each in self.model.output}:
            return False
        readers = [each for each in self.model.node if node.output[0] in each.input]
        return bool(readers) and all(each.op_type == "DequantizeLinear" and self.quantizer_of(each) is node for each in readers)

    def dequantized(self, node):
        quantizer = self.quantizer_of(node)
        if quantizer is not None:
            return self.fake_quantized(quantizer, self.value(quantizer.input[0]))
        stored = self.constants.get(node.input[0])
        known = [self.constants.get(name) for name in node.input[1:] if name]
        axis = attributes_of(node).get("axis", 1)
        if stored is None or any(each is None for each in known):
            scale, zero_point = self.parameters(node)
            return self.node(torch_operators.dequantize, [self.value(node.input[0]), scale, zero_point], {"axis": axis})
        # a module has its weights in floats, and quantizes them
        weights = self.hold(node.output[0], torch_operators.dequantize(stored, *known, axis=axis))
        return self.fake_quantized(node, weights, stored.dtype) if stored.dtype in torch_operators.INTEGERS else weights

    def fake_quantized(self, node, x, dtype=None):
        """PyTorch's own form of QuantizeLinear and DequantizeLinear after each other: scales and zero points of `node`."""
        dtype = dtype or self.quantized_type(node)
        scale, zero_point = (self.constants.get(name) for name in [*node.input[1:], ""][:2])
        if scale is None or (zero_point is None and len(node.input) > 2 and node.input[2]):
            raise Inexpressible("computed-scale", "torch.fake_quantize has constant scales and zero points")
        if scale.numel() == 1:
            number = int(zero_point) if zero_point is not None else 0
            return self.node(torch_operators.fake_quantize_per_tensor, [x], {"scale": float(scale), "zero_point": number, "dtype": dtype})
        zero_points = torch.zeros(scale.shape, dtype=torch.int32) if zero_point is None else zero_point.to(torch.int32)
        tensors = [x, self.hold(f"{node.name}_scales", scale.to(torch.float32)), self.hold(f"{node.name}_zero_points", zero_points)]
        axis = attributes_of(node).get("axis", 1)
        return self.node(torch_operators.fake_quantize_per_channel, tensors, {"dtype": dtype, "axis": axis})


def convert(model):
    """The module of an ONNX model that the checker has accepted, and the names of ONNX nodes by those of the module's nodes."""
    converter = Converter(model)
    return converter.module(), converter.nodes
