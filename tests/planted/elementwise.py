"""Relu, Add, Identity, Concat and BatchNormalization, from ONNX's specification of the operators."""
import numpy

import edits
import precision
from facts import Fact, Facts


class Relu(Facts):
    """The facts of a Relu."""

    DERIVED = (Fact("slope", "a negative value", edits.choice(is_divided_by_8=0.125, passes=1.0, has_its_sign_changed=-1.0)),
               Fact("threshold", "the threshold", edits.choice(is_one=1.0, is_minus_one=-1.0)),
               Fact("greatest", "a result", edits.choice(is_at_most_6=6.0, is_at_most_1=1.0)),
               Fact("channel", "the channel that is read", edits.index_map()),
               Fact("clipped", "the range of channels that are clipped", edits.extent(0)),
               Fact("result_format", "the result", edits.formats()))

    def resolve(self):
        self.data = self.inputs[0]
        self.slope, self.threshold, self.greatest, self.result_format = 0.0, 0.0, numpy.inf, None
        self.channel = numpy.arange(self.data.shape[1])
        self.clipped = self.data.shape[1]

    def compute(self):
        data = self.data.astype("float64")[:, self.channel]
        below = data * self.slope if self.slope else self.threshold
        result = numpy.where(data < self.threshold, below, data)
        result = numpy.minimum(result, self.greatest)
        result[:, self.clipped:] = data[:, self.clipped:]
        if self.result_format:
            result = precision.FORMATS[self.result_format](result)
        return result.astype(self.data.dtype)


class Add(Facts):
    """The facts of an Add."""

    DERIVED = (Fact("left", "the first operand", edits.parameter(0)), Fact("right", "the second operand", edits.parameter(0)),
               Fact("left_channel", "the channel of the first operand", edits.index_map()),
               Fact("right_channel", "the channel of the second operand", edits.index_map()),
               Fact("right_sample", "the sample of the second operand", edits.index_map()),
               Fact("right_last", "the position of the second operand along the last axis", edits.index_map()),
               Fact("operands", "each operand", edits.formats()),
               Fact("added", "the range of channels that are added to", edits.extent(0)))

    def resolve(self):
        self.left, self.right = (operand.astype("float64") for operand in self.inputs)
        self.left_channel, self.right_channel = _indices(self.left, 1), _indices(self.right, 1)
        self.right_sample, self.right_last = _indices(self.right, 0), _indices(self.right, -1)
        self.operands = None
        shape = numpy.broadcast_shapes(*(operand.shape for operand in self.inputs))
        self.added = shape[1] if len(shape) > 1 else 0

    def compute(self):
        left = _taken(self.left, self.left_channel, 1)
        right = _taken(_taken(_taken(self.right, self.right_channel, 1), self.right_sample, 0), self.right_last, -1)
        if self.operands:
            left, right = precision.FORMATS[self.operands](left), precision.FORMATS[self.operands](right)
        result = left + right
        if result.ndim > 1 and self.added < result.shape[1]:
            larger = left if left.shape == result.shape else numpy.broadcast_to(right, result.shape)
            result[:, self.added:] = larger[:, self.added:]
        return result.astype(self.inputs[0].dtype)


def _indices(values, axis):
    return numpy.arange(values.shape[axis] if values.ndim > max(axis, 0) else 1)


def _taken(values, index, axis):
    return numpy.take(values, index, axis) if values.ndim > max(axis, 0) else values


class Identity(Facts):
    """An Identity, which has no facts to edit."""

    def compute(self):
        return self.inputs[0]


class Concat(Facts):
    """The facts of a Concat."""

    DERIVED = (Fact("order", "the order of the inputs", edits.index_map()),
               Fact("channel", "the channel of the result", edits.index_map()),
               Fact("sample", "the sample of the last input", edits.index_map()),
               Fact("result_format", "the last input", edits.formats()))

    def resolve(self):
        axis = self.node.attributes["axis"]
        self.axis = axis + self.inputs[0].ndim if axis < 0 else axis
        self.order = numpy.arange(len(self.inputs))
        self.channel = numpy.arange(sum(values.shape[self.axis] for values in self.inputs))
        self.sample = numpy.arange(self.inputs[0].shape[0])
        self.result_format = None

    def compute(self):
        inputs = [self.inputs[place] for place in self.order]
        last = inputs[-1].astype("float64")[self.sample]
        if self.result_format:
            last = precision.FORMATS[self.result_format](last)
        result = numpy.concatenate([*inputs[:-1], last.astype(inputs[-1].dtype)], self.axis)
        if len(self.channel) <= result.shape[self.axis]:
            return numpy.take(result, self.channel, self.axis)
        return result


class BatchNormalization(Facts):
    """The facts of a BatchNormalization."""

    STEPS = {"centered": "subtracts the mean", "normalized": "divides by the deviation", "scaled": "multiplies by the scale",
             "offset": "adds the bias"}
    STATED = (Fact("epsilon", "epsilon", edits.choice(is_ignored=0.0, is_1e_3=1e-3, is_1e_5_whatever_is_written=1e-5,
                                                      is_one_tenth_of_what_is_written=None)),)
    DERIVED = (Fact("mean", "the mean", edits.parameter(0)), Fact("bias", "the bias", edits.parameter(0)),
               Fact("scale", "the scale", edits.parameter(1)),
               Fact("mean_index", "the entry of the mean", edits.index_map()),
               Fact("variance_index", "the entry of the variance", edits.index_map()),
               Fact("scale_index", "the entry of the scale", edits.index_map()),
               Fact("bias_index", "the entry of the bias", edits.index_map()),
               Fact("root", "the variance", edits.choice(is_used_without_its_root="none", gets_epsilon_after_the_root="after",
                                                        multiplies="inverse")),
               Fact("steps", "the value", edits.steps(STEPS)),
               Fact("folded_format", "the factor of each channel", edits.formats()),
               Fact("normalized_range", "the range of channels that are normalized", edits.extent(0)))

    def __init__(self, node, inputs, context):
        super().__init__(node, inputs, context)
        self.data = inputs[0]
        self.scale, self.bias, self.mean, self.variance = (values.astype("float64") for values in inputs[1:5])
        self.stated_epsilon = self.epsilon = node.attributes.get("epsilon", float(numpy.float32(1e-5)))

    def resolve(self):
        if self.epsilon is None:
            self.epsilon = self.stated_epsilon / 10
        indices = numpy.arange(self.data.shape[1])
        self.mean_index = self.variance_index = self.scale_index = self.bias_index = indices
        self.root, self.steps, self.folded_format = "before", list(self.STEPS), None
        self.normalized_range = self.data.shape[1]

    def compute(self):
        data = self.data.astype("float64")
        channels = [-1] + [1] * (self.data.ndim - 2)
        mean, scale, bias = (values[index].reshape(channels) for values, index in (
            (self.mean, self.mean_index), (self.scale, self.scale_index), (self.bias, self.bias_index)))
        deviation = self.deviation().reshape(channels)
        if self.folded_format:
            factor = precision.FORMATS[self.folded_format](scale / deviation)
            result = (data - mean) * factor + bias
        else:
            result = data
            applied = {"centered": lambda values: values - mean, "normalized": lambda values: values / deviation,
                       "scaled": lambda values: values * scale, "offset": lambda values: values + bias}
            for step in self.steps:
                result = applied[step](result)
        result = numpy.where((numpy.arange(self.data.shape[1]) < self.normalized_range).reshape(channels), result, data)
        return result.astype(self.data.dtype)

    def deviation(self):
        """What the centered value is divided by, per channel."""
        variance = self.variance[self.variance_index]
        return {"before": lambda: numpy.sqrt(variance + self.epsilon), "none": lambda: variance + self.epsilon,
                "after": lambda: numpy.sqrt(variance) + self.epsilon, "inverse": lambda: 1 / numpy.sqrt(variance + self.epsilon)}[self.root]()
