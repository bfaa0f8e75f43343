"""Random small graphs around one node of an operator, with generic values: what bugs are tried on."""
import random

import numpy

from model import Model, Node

OPSETS = range(11, 24)


class Draw:
    """A graph under construction; the same seed gives the same graph."""

    def __init__(self, operator, seed):
        self.random = random.Random(f"{operator} {seed}")
        self.operator = operator
        self.opset = self.random.choice(OPSETS)
        self.dtype = "float16" if self.opset >= 19 and self.random.random() < 0.15 else "float32"
        self.model = Model(self.opset, [], {}, [], [])
        self.shapes, self.run = {}, []
        self.rank = self.random.choice([1, 2, 2, 2, 3])
        self.batch = self.random.choice([1, 1, 1, 2, 3])

    def chance(self, share):
        """True with this probability."""
        return self.random.random() < share

    def normal(self, shape):
        """Generic values about one."""
        count = int(numpy.prod(shape))
        return numpy.array([self.random.gauss(0, 1) for _ in range(count)]).reshape(shape).astype(self.dtype)

    def integers(self, dtype, shape):
        """Integers of all the type's range; of INT32, some thousands."""
        limits = numpy.iinfo(dtype) if dtype != "int32" else numpy.iinfo("int16")
        return numpy.array([self.random.randint(limits.min, limits.max) for _ in range(int(numpy.prod(shape)))], dtype).reshape(shape)

    def name(self, stem):
        """A name that is not taken."""
        return f"{stem}{len(self.model.initializers) + len(self.model.inputs) + len(self.model.nodes)}"

    def initializer(self, array):
        """A constant."""
        name = self.name("c")
        self.model.initializers[name] = array
        return name

    def input(self, array):
        """An input of the graph."""
        name = self.name("x")
        self.model.inputs.append((name, array.dtype.name))
        self.shapes[name] = (array.dtype, array.shape)
        self.run.append(array)
        return name

    def node(self, op_type, inputs, **attributes):
        """A node of one output."""
        name = self.name("y")
        self.model.nodes.append(Node(op_type, inputs, [name], {key: value for key, value in attributes.items() if value is not None}))
        return name

    def extents(self, least=None):
        """Spatial extents."""
        largest = {1: 12, 2: 8, 3: 5}[self.rank]
        return [max(self.random.randint(1, largest), low) for low in (least or [1] * self.rank)]

    def data(self, shape):
        """Data from a graph input, or behind a quantizer, a Relu or a Conv."""
        value = self.input(self.normal(shape))
        kind = self.random.random()
        if kind < 0.35:
            return self.quantized(value, shape)
        if kind < 0.45:
            return self.node("Relu", [value])
        if kind < 0.55:
            return self.node("Conv", [value, self.initializer(self.normal([shape[1], 1] + [1] * (len(shape) - 2)))], group=shape[1])
        return value

    def finish(self, value):
        """Sometimes reads the value by something, and makes it the output of the graph."""
        kind = self.random.random()
        if kind < 0.15:
            value = self.node("Relu", [value])
        elif kind < 0.35:
            value = self.quantized(value, None)
        elif kind < 0.4:
            value = self.node("QuantizeLinear", [value, *self.parameters(None)[0]])
        self.model.outputs.append(value)
        return self

    def parameters(self, shape):
        """Scale and zero point, as input names, and the attribute axis. `shape` is None if there is one scale for all."""
        axis, size = None, []
        if shape and self.opset >= 13 and self.chance(0.55):
            axis = self.random.choice([0, 1, 1, len(shape) - 1])
            size = [shape[axis]]
        elif self.chance(0.4):
            size = [1]
        count = int(numpy.prod(size))
        scale = [2.0 ** self.random.randint(-7, -1) if self.chance(0.4) else self.random.uniform(0.005, 0.12) for _ in range(count)]
        names = [self.initializer(numpy.array(scale, self.dtype).reshape(size))]
        dtype = self.random.choice(["int8", "uint8"])
        form = self.random.choice(["zero", "nonzero", "nonzero", "absent"])
        if form != "absent":
            least, greatest = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
            numbers = [self.random.randint(least, greatest) if form == "nonzero" else 0 for _ in range(count)]
            names.append(self.initializer(numpy.array(numbers, dtype).reshape(size)))
        if axis is not None:
            axis = None if axis == 1 and self.chance(0.5) else axis - len(shape) if self.chance(0.4) else axis
        return names, axis

    def quantized(self, value, shape):
        """A value through QuantizeLinear and DequantizeLinear."""
        names, axis = self.parameters(shape)
        integers = self.node("QuantizeLinear", [value, *names], axis=axis)
        return self.node("DequantizeLinear", [integers, *names], axis=axis)

    def weights(self, shape):
        """Weights: a constant, or dequantized."""
        if self.chance(0.5):
            return self.initializer(self.normal(shape))
        names, axis = self.parameters(shape)
        if self.chance(0.4):
            integers = self.node("QuantizeLinear", [self.initializer(self.normal(shape)), *names], axis=axis)
        else:
            dtype = self.model.initializers[names[1]].dtype.name if len(names) > 1 else self.random.choice(["int8", "uint8"])
            integers = self.initializer(self.integers(dtype, shape))
        return self.node("DequantizeLinear", [integers, *names], axis=axis)

    def bias(self, count):
        """A bias as the rest of a node's inputs: none, a constant, or dequantized from INT32."""
        kind = self.random.random()
        if kind < 0.35:
            return []
        if kind < 0.85 or self.dtype == "float16":
            return [self.initializer(self.normal([count]))]
        scale = self.initializer(numpy.array(1e-4, self.dtype))
        return [self.node("DequantizeLinear", [self.initializer(self.integers("int32", [count])), scale])]


def convolution(draw):
    """A Conv or a ConvTranspose."""
    pick, rank = draw.random.choice, draw.rank
    transposed = draw.operator == "ConvTranspose"
    most = {1: 8, 2: 6, 3: 3}[rank]
    inputs, outputs = draw.random.randint(1, most), draw.random.randint(1, most + 4)
    group = pick([1, 1, 1, 2, 3, 4])
    if group > 1:
        inputs, outputs = min(inputs, 3), min(outputs, 3)
        inputs = 1 if draw.chance(0.4) else inputs
    kernel = [draw.random.randint(1, 4 if rank > 1 else 5) for _ in range(rank)]
    if draw.chance(0.4):
        kernel = [kernel[0]] * rank
    strides = [pick([1, 1, 2, 3]) for _ in range(rank)]
    dilations = [pick([1, 1, 1, 2, 3]) if rank < 3 else pick([1, 1, 2]) for _ in range(rank)]
    spans = [(extent - 1) * dilation + 1 for extent, dilation in zip(kernel, dilations)]
    attributes = {"group": group if group > 1 or draw.chance(0.3) else None, "kernel_shape": kernel if draw.chance(0.6) else None,
                  "strides": strides if max(strides) > 1 or draw.chance(0.3) else None,
                  "dilations": dilations if max(dilations) > 1 or draw.chance(0.3) else None}
    extents = draw.extents(None if transposed else spans)
    padding = pick(["none", "none", "pads", "pads", "same", "shape" if transposed else "pads"])
    if transposed:
        output_padding = [draw.random.randrange(stride) for stride in strides] if draw.chance(0.4) else [0] * rank
        attributes["output_padding"] = output_padding if any(output_padding) else None
        full = [s * (e - 1) + p + span for s, e, p, span in zip(strides, extents, output_padding, spans)]
        if padding == "same" and any(size < s * e for size, s, e in zip(full, strides, extents)) or padding == "shape" and min(full) < 2:
            padding = "none"
        if padding == "shape":
            attributes["output_shape"] = [size - draw.random.randint(0, min(2, size - 1)) for size in full]
            attributes["auto_pad"] = pick([None, None, "SAME_UPPER", "SAME_LOWER"])
    if padding == "pads":
        limits = [min(2, (size - 1) // 2) for size in full] if transposed else [min(2, span - 1) for span in spans]
        begins, ends = ([draw.random.randint(0, limit) for limit in limits] for _ in range(2))
        attributes["pads"] = begins + (begins if draw.chance(0.4) else ends)
    if padding == "same":
        attributes["auto_pad"] = pick(["SAME_UPPER", "SAME_LOWER"])
    data = draw.data([draw.batch, inputs * group, *extents])
    shape = [inputs * group, outputs, *kernel] if transposed else [outputs * group, inputs, *kernel]
    return draw.node(draw.operator, [data, draw.weights(shape), *draw.bias(outputs * group)], **attributes)


def shape(draw):
    """The shape of an activation."""
    return [draw.batch, draw.random.randint(1, 6), *draw.extents()]


def quantize(draw):
    """A QuantizeLinear, on values with ties and beyond its range."""
    size = shape(draw)
    names, axis = draw.parameters(size)
    values = draw.normal(size).astype("float64") * draw.random.choice([1, 4, 16])
    if draw.chance(0.5):  # ties
        scale = draw.model.initializers[names[0]].astype("float64").max()
        values = (numpy.floor(values / scale) + 0.5) * scale
    source = draw.random.random()
    value = (draw.initializer if source < 0.2 else draw.input)(values.astype(draw.dtype))
    if source > 0.75:
        value = draw.node("Relu", [value])
    elif source > 0.6:
        value = draw.node("Conv", [value, draw.initializer(numpy.ones([size[1], 1] + [1] * draw.rank, draw.dtype))], group=size[1])
    integers = draw.node("QuantizeLinear", [value, *names], axis=axis)
    if draw.chance(0.7):
        integers = draw.node("DequantizeLinear", [integers, *names], axis=axis)
    draw.model.outputs.append(integers)
    return draw


def dequantize(draw):
    """A DequantizeLinear of integers, or behind a QuantizeLinear."""
    if draw.chance(0.45):
        draw.operator = "Conv" if draw.chance(0.6) else "ConvTranspose"
        return draw.finish(convolution(draw))
    size = shape(draw)
    if draw.chance(0.3):
        return draw.finish(draw.quantized(draw.input(draw.normal(size)), size))
    names, axis = draw.parameters(size)
    if len(names) == 1 and draw.chance(0.5):
        dtype = "int32"
    else:
        dtype = draw.model.initializers[names[1]].dtype.name if len(names) > 1 else draw.random.choice(["int8", "uint8"])
    return draw.finish(draw.node("DequantizeLinear", [draw.input(draw.integers(dtype, size)), *names], axis=axis))


def relu(draw):
    """A Relu."""
    return draw.node("Relu", [draw.data(shape(draw))])


def add(draw):
    """An Add of values of equal shape, or with a constant per channel or a scalar."""
    size = shape(draw)
    kind = draw.random.choice(["equal", "equal", "channels", "scalar"])
    other = {"equal": lambda: draw.input(draw.normal(size)), "scalar": lambda: draw.initializer(draw.normal([])),
             "channels": lambda: draw.initializer(draw.normal([size[1], *[1] * draw.rank]))}[kind]()
    operands = [draw.data(size), other]
    return draw.node("Add", operands if draw.chance(0.5) else operands[::-1])


def pool(draw):
    """A MaxPool."""
    rank = draw.rank
    kernel, stride, pad = draw.random.choice([(2, 2, 0), (2, 2, 1), (3, 2, 1), (3, 2, 0), (3, 1, 1), (2, 1, 0)])
    rounds_up = stride > 1 and pad + stride <= kernel and draw.chance(0.3)
    data = draw.data([draw.batch, draw.random.randint(1, 5), *draw.extents([3] * rank)])
    return draw.node("MaxPool", [data], kernel_shape=[kernel] * rank, strides=[stride] * rank if stride > 1 or draw.chance(0.5) else None,
                     pads=[pad] * (2 * rank) if pad or draw.chance(0.5) else None, ceil_mode=int(rounds_up) or None)


def concat(draw):
    """A Concat along the channels."""
    size = shape(draw)
    sizes = [size if draw.chance(0.4) else [size[0], draw.random.randint(1, 5), *size[2:]] for _ in range(draw.random.choice([2, 2, 3]))]
    return draw.node("Concat", [draw.data(each) for each in sizes], axis=1 if draw.chance(0.7) else -1 - draw.rank)


def normalization(draw):
    """A BatchNormalization."""
    size = shape(draw)
    parameters = [draw.normal([size[1]]) for _ in range(3)] + [numpy.abs(draw.normal([size[1]])) + numpy.array(0.01, draw.dtype)]
    return draw.node("BatchNormalization", [draw.data(size), *map(draw.initializer, parameters)],
                     epsilon=draw.random.choice([None, 1e-3, 1e-5, 0.25]), momentum=0.9 if draw.chance(0.2) else None)


DRAWS = {"Conv": convolution, "ConvTranspose": convolution, "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "Relu": relu,
         "Add": add, "MaxPool": pool, "Concat": concat, "BatchNormalization": normalization}


def drawn(operator, seed):
    """A graph with a node of this operator."""
    draw = Draw(operator, seed)
    made = DRAWS[operator](draw)
    return made if isinstance(made, Draw) else draw.finish(made)
