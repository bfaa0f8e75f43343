"""Conv and ConvTranspose, from ONNX's specification of the operators."""
import numpy

import edits
import precision
import windows
from facts import Fact, Facts

STRIDES = Fact("strides", "the strides", edits.axis_values(1, 1, ("dilations", "the dilations")))
DILATIONS = Fact("dilations", "the dilations", edits.axis_values(1, 1, ("strides", "the strides")))
BEGINS = Fact("begins", "the pads at the beginnings", edits.axis_values(0, 0, ("ends", "those at the ends")))
ENDS = Fact("ends", "the pads at the ends", edits.axis_values(0, 0, ("begins", "those at the beginnings")))
AUTO_PAD = Fact("auto_pad", "auto_pad", {
    "SAME_UPPER and SAME_LOWER are exchanged": lambda facts, value: {"SAME_UPPER": "SAME_LOWER", "SAME_LOWER": "SAME_UPPER"}.get(value, value),
    "is ignored": lambda facts, value: "NOTSET",
    "SAME is read as VALID": lambda facts, value: "VALID" if value.startswith("SAME") else value})
PADS = Fact("pads", "the pads", {
    "are read as pairs of beginning and end": lambda facts, value: value and value[0::2] + value[1::2],
    "are read with beginnings and ends exchanged": lambda facts, value: value and value[len(value) // 2:] + value[:len(value) // 2],
    "of the first axis apply to all axes": lambda facts, value: value and [pad for pad in (value[0], value[len(value) // 2]) for _ in facts.strides],
    "are distributed evenly between the ends of each axis": lambda facts, value: value and _even(value)})
MAPS = [
    Fact("sample", "the sample that an output reads", edits.index_map()),
    Fact("input_group", "the group of input channels", edits.index_map()),
    Fact("input_channel", "the input channel within a group", edits.index_map()),
    Fact("weight_group", "the group of weights", edits.index_map()),
    Fact("weight_output", "the output channel within a group of weights", edits.index_map()),
    Fact("weight_input", "the input channel of the weights", edits.index_map()),
    Fact("bias_index", "the entry of the bias", edits.index_map()),
    Fact("kernel_first", "the kernel position along the first axis", edits.index_map()),
    Fact("kernel_last", "the kernel position along the last axis", edits.index_map()),
    Fact("output_channel", "the channel that is written", edits.index_map()),
]
REST = [
    Fact("input_layout", "the channels of the data", edits.choice(belong_to_groups_in_turn="interleaved")),
    Fact("weight_layout", "the output channels of the weights", edits.choice(belong_to_groups_in_turn="interleaved")),
    Fact("kernel_layout", "the kernel", edits.choice(is_read_with_its_axes_in_reverse_order="column-major",
                                                     has_its_axes_exchanged_if_it_is_square="transposed")),
    Fact("offset", "the last axis is read", edits.offset()),
    Fact("offset_first", "the first axis is read", edits.offset()),
    Fact("outside", "outside of the data", edits.choice(its_edge_is_repeated="edge", it_continues_from_the_other_side="wrap",
                                                       it_is_mirrored="mirror")),
    Fact("fill", "the padding", edits.choice(is_one=1.0, is_minus_one=-1.0)),
    Fact("summed_channels", "the sum over the input channels", edits.extent()),
    Fact("summed_first", "the sum over the kernel's first axis", edits.extent()),
    Fact("summed_last", "the sum over the kernel's last axis", edits.extent()),
    Fact("biased_first", "the range of the first axis that gets the bias", edits.extent(0)),
    Fact("biased_last", "the range of the last axis that gets the bias", edits.extent(0)),
    Fact("written_last", "the range of the last axis that is written", edits.extent(0)),
    Fact("bias", "the bias", edits.parameter(0)),
    Fact("bias_divisor", "the bias", edits.choice(is_added_once_per_kernel_position="kernel", is_added_once_per_input_channel="channels",
                                                  is_divided_among_the_groups="groups")),
    Fact("operands", "each operand", edits.formats()),
    Fact("weights_format", "each weight", edits.formats()),
    Fact("data_format", "the data", edits.formats()),
    Fact("products_format", "the sum of each input channel", edits.formats()),
    Fact("result_format", "the result", edits.formats()),
]


def _even(pads):
    half = len(pads) // 2
    pairs = [windows.same_padding(begin + end, False) for begin, end in zip(pads[:half], pads[half:])]
    return [begin for begin, _ in pairs] + [end for _, end in pairs]


class Convolution(Facts):
    """The facts of a Conv; of a ConvTranspose, what both share."""

    STATED = (STRIDES, DILATIONS, AUTO_PAD, PADS)
    DERIVED = (STRIDES, DILATIONS, BEGINS, ENDS, *MAPS, *REST)

    def __init__(self, node, inputs, context):
        super().__init__(node, inputs, context)
        self.data, self.weights = inputs[0], inputs[1]
        bias = self.optional(2)
        self.has_bias = bias is not None
        self.rank = self.data.ndim - 2
        attributes = node.attributes
        self.group = attributes.get("group", 1)
        self.kernel = list(self.weights.shape[2:])
        self.strides = list(attributes.get("strides", [1] * self.rank))
        self.dilations = list(attributes.get("dilations", [1] * self.rank))
        self.auto_pad = attributes.get("auto_pad", "NOTSET")
        self.pads = list(attributes["pads"]) if "pads" in attributes else None
        self.extents = list(self.data.shape[2:])
        self.group_inputs = self.data.shape[1] // self.group
        self.outputs = self.output_channels()
        self.bias = bias.astype("float64") if self.has_bias else numpy.zeros(self.outputs)

    def output_channels(self):
        """The number of output channels."""
        return self.weights.shape[0]

    def resolve(self):
        self.group_outputs = self.outputs // self.group
        self.pad()
        channels = numpy.arange(self.outputs)
        self.sample = numpy.arange(self.data.shape[0])
        self.input_group = numpy.arange(self.group)
        self.weight_group = numpy.arange(self.group)
        self.weight_output = numpy.arange(self.group_outputs)
        self.input_channel = numpy.arange(self.group_inputs)
        self.weight_input = numpy.arange(self.group_inputs)
        self.bias_index, self.output_channel = channels, channels
        self.kernel_first, self.kernel_last = numpy.arange(self.kernel[0]), numpy.arange(self.kernel[-1])
        self.input_layout = self.weight_layout = "grouped"
        self.kernel_layout = "row-major"
        self.offset = self.offset_first = 0
        self.outside, self.fill, self.between = "fill", 0.0, "none"
        self.summed_channels = self.group_inputs
        self.summed_first, self.summed_last = self.kernel[0], self.kernel[-1]
        self.biased_first, self.biased_last, self.written_last = self.output[0], self.output[-1], self.output[-1]
        self.bias_divisor = "one"
        self.operands = self.weights_format = self.data_format = self.products_format = self.result_format = None

    def pad(self):
        """Derives pads and the output's extents from auto_pad or pads."""
        spans = [(kernel - 1) * dilation + 1 for kernel, dilation in zip(self.kernel, self.dilations)]
        pads = self.pads or [0] * (2 * self.rank)
        self.begins, self.ends = pads[:self.rank], pads[self.rank:]
        if self.auto_pad == "VALID":
            self.begins = self.ends = [0] * self.rank
        elif self.auto_pad.startswith("SAME"):
            totals = [max((-(-extent // stride) - 1) * stride + span - extent, 0)
                      for extent, stride, span in zip(self.extents, self.strides, spans)]
            pairs = [windows.same_padding(total, self.auto_pad == "SAME_LOWER") for total in totals]
            self.begins, self.ends = [begin for begin, _ in pairs], [end for _, end in pairs]
        self.output = [(extent + begin + end - span) // stride + 1 for extent, begin, end, span, stride
                       in zip(self.extents, self.begins, self.ends, spans, self.strides)]

    def axes(self):
        """How windows move along each axis."""
        return [windows.Axis(*facts) for facts in zip(self.extents, self.kernel, self.strides, self.dilations, self.begins, self.output)]

    def tables(self):
        """Which position each output reads by each kernel position, one table per axis."""
        return [axis.read(self.outside, self.at(place)) for place, axis in enumerate(self.axes())]

    def at(self, place):
        """By how much the reading of an axis is off."""
        return self.offset * (place == self.rank - 1) + self.offset_first * (place == 0)

    def grouped_weights(self, weights):
        """Weights as [group, output channel, input channel, kernel…]."""
        if self.weight_layout == "interleaved":
            return weights.reshape(self.group_outputs, self.group, *weights.shape[1:]).swapaxes(0, 1)
        return weights.reshape(self.group, self.group_outputs, *weights.shape[1:])

    def read_weights(self):
        """Weights as [group, output channel, input channel, kernel…], each index as its map says."""
        weights = self.rounded(self.weights.astype("float64"), self.operands, self.weights_format)
        if self.kernel_layout == "column-major":
            order = [0, 1, *range(self.rank + 1, 1, -1)]
            weights = weights.reshape(*weights.shape[:2], *self.kernel[::-1]).transpose(order)
        elif self.kernel_layout == "transposed" and len(set(self.kernel)) == 1:
            weights = weights.transpose([0, 1, *range(self.rank + 1, 1, -1)])
        weights = self.grouped_weights(weights)
        weights = weights[self.weight_group][:, self.weight_output][:, :, self.weight_input]
        weights = numpy.take(weights, self.kernel_last, axis=-1)
        return numpy.take(weights, self.kernel_first, axis=3)

    def read_data(self):
        """Data as [group, sample, input channel, spatial…], each index as its map says."""
        data = self.rounded(self.data.astype("float64"), self.operands, self.data_format)[self.sample]
        if self.input_layout == "interleaved":
            data = data.reshape(len(data), self.group_inputs, self.group, *data.shape[2:]).swapaxes(1, 2)
        else:
            data = data.reshape(len(data), self.group, self.group_inputs, *data.shape[2:])
        return data.swapaxes(0, 1)[self.input_group][:, :, self.input_channel]

    @staticmethod
    def rounded(values, *formats):
        """Values in the last of these formats that is given."""
        for name in formats:
            values = precision.FORMATS[name](values) if name else values
        return values

    def compute(self):
        if min(self.output) < 0:
            raise ValueError("an extent of the output is negative")
        tables, weights, data = self.tables(), self.read_weights(), self.read_data()
        tables[0], tables[-1] = tables[0].copy(), tables[-1].copy()
        weights, data = weights[:, :, :self.summed_channels], data[:, :, :self.summed_channels]
        weights, tables = self.cut(weights, tables)
        exists = self.counted(tables)
        result = numpy.stack([self.summed(of_group, kernel, tables, exists) for of_group, kernel in zip(data, weights)], 1)
        result = result.reshape(len(result), self.outputs, *self.output)
        if self.has_bias:
            self.add_bias(result)
        result[..., self.written_last:] = 0
        return self.rounded(result[:, self.output_channel], self.result_format).astype(self.data.dtype)

    def cut(self, weights, tables):
        """Weights and tables without the kernel positions that the sum leaves out."""
        weights = weights[..., :self.summed_last]
        tables[-1] = tables[-1][:, :self.summed_last]
        weights = weights[:, :, :, :self.summed_first]
        tables[0] = tables[0][:, :self.summed_first]
        return weights, tables

    def counted(self, tables):
        """Which products exist, if those in the padding do not count; None if all do."""
        return None

    def summed(self, data, weights, tables, exists):
        """One group: data[sample, channel, spatial…] and weights[output, channel, kernel…] as [sample, output, outputs…]."""
        rank = self.rank
        read = windows.gathered(data, tables, self.fill)  # [sample, channel, outputs…, kernels…]
        outputs, kernel = read.shape[2:2 + rank], read.shape[2 + rank:]
        count, positions = int(numpy.prod(kernel)), int(numpy.prod(outputs))
        rows = read.reshape(*read.shape[:2], positions, count)
        columns = weights.reshape(*weights.shape[:2], count)
        if self.products_format:
            sums = numpy.einsum("ncpk,mck->nmcp", rows, columns)
            result = self.rounded(sums, self.products_format).sum(2)
        elif exists is not None and not (numpy.isfinite(rows).all() and numpy.isfinite(columns).all()):
            products = rows[:, None] * columns[None, :, :, None]
            exists = numpy.broadcast_to(exists, (*outputs, *kernel)).reshape(positions, count)
            result = numpy.where(exists, products, 0).sum((2, 4))
        else:
            rows = rows.transpose(0, 2, 1, 3).reshape(len(rows), positions, columns[:1].size)
            result = (rows @ columns.reshape(len(columns), -1).T).swapaxes(1, 2)
        return result.reshape(len(rows), len(weights), *outputs)

    def add_bias(self, result):
        """Adds the bias in place."""
        factor = {"one": 1, "kernel": numpy.prod(self.kernel), "channels": self.group_inputs, "groups": 1 / self.group}[self.bias_divisor]
        bias = (self.bias[self.bias_index] * factor).reshape(-1, *[1] * self.rank)
        if self.rank == 1:
            result[:, :, :min(self.biased_first, self.biased_last)] += bias
        else:
            result[:, :, :self.biased_first, ..., :self.biased_last] += bias


OUTPUT_PADDING = Fact("output_padding", "output_padding", {
    **edits.axis_values(0, 0), "is put at the beginnings": lambda facts, value: facts.moved_to_the_front(value)})
OUTPUT_SHAPE = Fact("output_shape", "output_shape", {
    "is ignored": lambda facts, value: None, "is read in reverse order": lambda facts, value: value and value[::-1],
    "counts output_padding twice": lambda facts, value: value and [e + p for e, p in zip(value, facts.output_padding)]})
REST_OF_PADDING = Fact("rest_first", "the odd element of a padding", {"is put at the other end": lambda facts, value: not value})


class ConvTranspose(Convolution):
    """The facts of a ConvTranspose."""

    STATED = (STRIDES, DILATIONS, AUTO_PAD, PADS, OUTPUT_PADDING, OUTPUT_SHAPE, REST_OF_PADDING)
    DERIVED = (*Convolution.DERIVED, OUTPUT_PADDING,
               Fact("between", "between the strides", edits.choice(the_value_before_is_read_again="floor")))

    def __init__(self, node, inputs, context):
        super().__init__(node, inputs, context)
        self.output_padding = list(node.attributes.get("output_padding", [0] * self.rank))
        shape = node.attributes.get("output_shape")
        self.output_shape = list(shape)[-self.rank:] if shape else None
        self.rest_first = self.auto_pad != "SAME_UPPER"

    def output_channels(self):
        return self.weights.shape[1] * self.group

    def pad(self):
        spans = [(kernel - 1) * dilation + 1 for kernel, dilation in zip(self.kernel, self.dilations)]
        pads = self.pads or [0] * (2 * self.rank)
        self.begins, self.ends = pads[:self.rank], pads[self.rank:]
        full = [stride * (extent - 1) + padding + span for stride, extent, padding, span
                in zip(self.strides, self.extents, self.output_padding, spans)]
        wanted = self.output_shape
        if wanted is None and self.auto_pad.startswith("SAME"):
            wanted = [extent * stride for extent, stride in zip(self.extents, self.strides)]
        if wanted is not None:
            pairs = [windows.same_padding(max(whole - size, 0), self.rest_first) for whole, size in zip(full, wanted)]
            self.begins, self.ends = [begin for begin, _ in pairs], [end for _, end in pairs]
            self.output = list(wanted)
        else:
            if self.auto_pad == "VALID":
                self.begins = self.ends = [0] * self.rank
            self.output = [whole - begin - end for whole, begin, end in zip(full, self.begins, self.ends)]

    def moved_to_the_front(self, value):
        """Shifts the result by output_padding; the shape stays."""
        self.begins = [begin - padding for begin, padding in zip(self.begins, value)]
        return value

    def tables(self):
        return [axis.scattered(self.between, self.outside, self.at(place)) for place, axis in enumerate(self.axes())]

    def counted(self, tables):
        return windows.inside(tables)

    def grouped_weights(self, weights):
        if self.weight_layout == "interleaved":
            weights = weights.reshape(self.group_inputs, self.group, *weights.shape[1:]).swapaxes(0, 1)
        else:
            weights = weights.reshape(self.group, self.group_inputs, *weights.shape[1:])
        return weights.swapaxes(1, 2)
