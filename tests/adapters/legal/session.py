"""A model that numpy runs node by node, as one legal implementation of ONNX among many."""
import functools

import numpy, onnx
from onnx import helper, numpy_helper

from mutated.bugs import reached_end
from mutated.window import Window
from . import products, transforms

CONVOLUTIONS = ("Conv", "ConvTranspose")


def per_channel(values, rank, axis=1):
    return values.reshape([-1 if place == axis else 1 for place in range(rank)]) if values.size > 1 else values.reshape(())


class LegalSession:
    """Stands in for onnxruntime.InferenceSession. All floats are computed in 32 bits and rounded once at the end of each operator."""

    def __init__(self, model, sums="in-order", transform=None, folds=False, integers=False, reciprocal=False):
        self.model = onnx.load_from_string(model)
        self.sums, self.transform = products.ORDERS[sums], transform
        self.folds, self.integers, self.reciprocal = folds, integers, reciprocal
        graph = self.model.graph
        self.constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        self.producers = {output: node for node in graph.node for output in node.output}
        names = [name for node in graph.node for name in node.input] + [one.name for one in graph.output]
        self.single_use = {name for name in names if names.count(name) == 1}

    def get_inputs(self):
        return [one for one in self.model.graph.input if one.name not in self.constants]

    def run(self, names, feeds):
        self.values = dict(self.constants) | feeds
        with numpy.errstate(all="ignore"):
            for node in self.model.graph.node:
                attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
                inputs = [self.values.get(name) for name in node.input]
                self.values[node.output[0]] = getattr(self, node.op_type)(node, attributes, *inputs)
        return [self.values[one.name] for one in self.model.graph.output]

    def is_constant(self, name):
        if name in self.producers:
            return all(map(self.is_constant, self.producers[name].input))
        return name in self.constants

    # convolutions

    def Conv(self, node, attributes, x, w, bias=None):
        window = Window(node.op_type, x.shape, w.shape, attributes)
        integral = self.integral(node, window) if self.integers else None
        if integral is not None:
            sums = integral
        else:
            sums = self.convolved(window, x.astype(numpy.float32), w.astype(numpy.float32),
                                  None if bias is None else bias.astype(numpy.float32))
        return sums.astype(x.dtype)

    ConvTranspose = Conv

    def convolved(self, window, x, w, bias):
        transformed = self.transform(window, x, w) if self.transform else None
        if transformed is not None:
            return transformed if bias is None else transformed + per_channel(bias, transformed.ndim)
        terms = products.Products(window, x, w)
        return terms.output(self.sums(terms, None if bias is None else bias.reshape([1, terms.group, -1, 1])))

    def dequantized(self, name):
        """The integers, the scale and the zero point of which a value is made; nothing if it is not."""
        node = self.producers.get(name)
        if node is None or node.op_type != "DequantizeLinear":
            return None
        integers, scale = (self.values[one] for one in node.input[:2])
        zero_point = self.values[node.input[2]] if len(node.input) > 2 and node.input[2] else numpy.zeros_like(scale)
        axis = next((one.i for one in node.attribute if one.name == "axis"), 1)
        return integers.astype(numpy.int64), scale.astype(numpy.float32), zero_point.astype(numpy.int64), axis % max(integers.ndim, 1)

    def integral(self, node, window):
        """The convolution of dequantized operands as a sum of integers that is scaled once; nothing if a scale stands in the way."""
        x, w = map(self.dequantized, node.input[:2])
        if x is None or w is None or x[1].size > 1:
            return None
        if w[1].size > 1 and (w[3] != (1 if window.transposed else 0) or window.transposed and window.group > 1):
            return None
        shifted = x[0] - x[2].reshape(-1)[0], w[0] - per_channel(w[2], w[0].ndim, w[3])
        terms = products.Products(window, *shifted)
        sums = terms.output(sum(map(terms.of, terms.terms), numpy.zeros(terms.shape, numpy.int64)))
        scale = x[1].reshape(()) * w[1]
        scaled = sums.astype(numpy.float32) * per_channel(scale, sums.ndim)
        bias = self.values.get(node.input[2]) if len(node.input) > 2 else None
        return scaled if bias is None else scaled + per_channel(bias.astype(numpy.float32), sums.ndim)

    # quantizers

    def QuantizeLinear(self, node, attributes, x, scale, zero_point=None):
        zero_point = numpy.zeros(scale.shape, numpy.uint8) if zero_point is None else zero_point
        axis, limits = attributes.get("axis", 1) % max(x.ndim, 1), numpy.iinfo(zero_point.dtype)
        x, scale = x.astype(numpy.float32), per_channel(scale.astype(numpy.float32), x.ndim, axis)
        scaled = x * (numpy.float32(1) / scale) if self.reciprocal else x / scale
        integers = numpy.rint(scaled).astype(numpy.float64) + per_channel(zero_point, x.ndim, axis)
        return numpy.clip(numpy.nan_to_num(integers, nan=0.0), limits.min, limits.max).astype(zero_point.dtype)

    def DequantizeLinear(self, node, attributes, x, scale, zero_point=None):
        axis = attributes.get("axis", 1) % max(x.ndim, 1)
        shift = 0 if zero_point is None else per_channel(zero_point.astype(numpy.int64), x.ndim, axis)
        shifted = (x.astype(numpy.int64) - shift).astype(numpy.float32)
        factors = per_channel(scale.astype(numpy.float32), x.ndim, axis)
        product = shifted / (numpy.float32(1) / factors) if self.reciprocal else shifted * factors
        return product.astype(scale.dtype)

    # surroundings

    def Identity(self, node, attributes, x):
        return x

    def Relu(self, node, attributes, x):
        return numpy.where(x <= 0, x.dtype.type(0), x)

    def Add(self, node, attributes, one, other):
        if one.dtype.kind != "f":
            return one + other
        return (one.astype(numpy.float32) + other.astype(numpy.float32)).astype(one.dtype)

    def Concat(self, node, attributes, *parts):
        return numpy.concatenate(parts, attributes["axis"])

    def BatchNormalization(self, node, attributes, x, scale, bias, mean, variance):
        scale, bias, mean, variance = (one.astype(numpy.float32) for one in (scale, bias, mean, variance))
        factor = scale / numpy.sqrt(variance + numpy.float32(attributes.get("epsilon", 1e-5)))
        folded = self.folded(node, factor, (bias, mean)) if self.folds else None
        if folded is not None:
            return folded.astype(x.dtype)
        shifted = x.astype(numpy.float32) - per_channel(mean, x.ndim)
        return (shifted * per_channel(factor, x.ndim) + per_channel(bias, x.ndim)).astype(x.dtype)

    def folded(self, node, factor, shift):
        """The convolution before the normalization, with both in its weights and bias; nothing if another node needs its result."""
        convolution = self.producers.get(node.input[0])
        if convolution is None or convolution.op_type not in CONVOLUTIONS or node.input[0] not in self.single_use:
            return None
        if not all(map(self.is_constant, [*convolution.input[1:], *node.input[1:]])):
            return None
        attributes = {one.name: helper.get_attribute_value(one) for one in convolution.attribute}
        x, w = (self.values[name].astype(numpy.float32) for name in convolution.input[:2])
        bias = self.values.get(convolution.input[2]) if len(convolution.input) > 2 else None
        bias = numpy.zeros_like(factor) if bias is None else bias.astype(numpy.float32)
        window = Window(convolution.op_type, x.shape, w.shape, attributes)
        if window.transposed:
            by_group = w.reshape([window.group, -1, *w.shape[1:]])
            scaled = by_group * factor.reshape([window.group, 1, -1] + [1] * (w.ndim - 2))
            w = scaled.reshape(w.shape)
        else:
            w = w * per_channel(factor, w.ndim, 0)
        return self.convolved(window, x, w, (bias - shift[1]) * factor + shift[0])

    def MaxPool(self, node, attributes, x):
        window = Window("Conv", x.shape, [0, 0, *attributes["kernel_shape"]], attributes)
        if attributes.get("ceil_mode"):
            for axis in window.axes:
                axis.end = reached_end(axis)
                axis.output = (axis.input + axis.begin + axis.end - axis.reach) // axis.stride + 1
        lowest = -numpy.inf if x.dtype.kind == "f" else numpy.iinfo(x.dtype).min
        for place, axis in enumerate(window.axes):
            positions, inside = products.reached(axis, False)
            shape = [-1 if at == place + 2 else 1 for at in range(x.ndim)]
            of_tap = lambda tap: numpy.where(inside[tap].reshape(shape), numpy.take(x, positions[tap], place + 2), x.dtype.type(lowest))
            x = functools.reduce(numpy.maximum, map(of_tap, range(axis.kernel)))
        return x
