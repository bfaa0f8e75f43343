"""MaxPool, from ONNX's specification of the operator."""
import numpy

import convolution
import edits
import windows
from facts import Fact, Facts

KERNEL = Fact("kernel", "the kernel's extents", edits.axis_values(1, 1))
CEIL = Fact("ceil_mode", "ceil_mode", {"is ignored": lambda facts, value: 0, "is taken for 1": lambda facts, value: 1})


class MaxPool(Facts):
    """The facts of a MaxPool."""

    STATED = (convolution.STRIDES, convolution.PADS, KERNEL, CEIL)
    DERIVED = (convolution.STRIDES, convolution.DILATIONS, convolution.BEGINS, KERNEL,
               Fact("sample", "the sample that an output reads", edits.index_map()),
               Fact("channel", "the channel that an output reads", edits.index_map()),
               Fact("offset", "the last axis is read", edits.offset()),
               Fact("outside", "outside of the data", edits.choice(its_edge_is_repeated="edge", it_continues_from_the_other_side="wrap")),
               Fact("fill", "the padding", edits.choice(is_zero=0.0, is_minus_one=-1.0)),
               Fact("reduction", "the window", edits.choice(gives_its_minimum="min", gives_its_first_value="first",
                                                           gives_its_mean="mean", gives_its_last_value="last",
                                                           gives_the_value_of_the_largest_magnitude="magnitude")),
               Fact("written_last", "the range of the last axis that is written", edits.extent(0)))

    def __init__(self, node, inputs, context):
        super().__init__(node, inputs, context)
        self.data = inputs[0]
        self.rank = self.data.ndim - 2
        attributes = node.attributes
        self.kernel = list(attributes["kernel_shape"])
        self.strides = list(attributes.get("strides", [1] * self.rank))
        self.dilations = list(attributes.get("dilations", [1] * self.rank))
        self.pads = list(attributes.get("pads", [0] * (2 * self.rank)))
        self.ceil_mode = attributes.get("ceil_mode", 0)
        self.extents = list(self.data.shape[2:])

    def resolve(self):
        self.begins, self.ends = self.pads[:self.rank], self.pads[self.rank:]
        self.output = []
        for extent, kernel, stride, dilation, begin, end in zip(
                self.extents, self.kernel, self.strides, self.dilations, self.begins, self.ends):
            room = extent + begin + end - (kernel - 1) * dilation - 1
            windows_along = (-(-room // stride) if self.ceil_mode else room // stride) + 1
            if self.ceil_mode and (windows_along - 1) * stride >= extent + begin:
                windows_along -= 1  # a window may not begin in the padding behind the data
            self.output.append(windows_along)
        self.sample, self.channel = numpy.arange(self.data.shape[0]), numpy.arange(self.data.shape[1])
        self.offset, self.outside, self.fill, self.reduction = 0, "fill", -numpy.inf, "max"
        self.written_last = self.output[-1]

    def compute(self):
        if min(self.output) < 0:
            raise ValueError("an extent of the output is negative")
        tables = [windows.Axis(*facts).read(self.outside, self.offset * (place == self.rank - 1)) for place, facts in enumerate(
            zip(self.extents, self.kernel, self.strides, self.dilations, self.begins, self.output))]
        data = self.data.astype("float64")[self.sample][:, self.channel]
        read = windows.gathered(data, tables, self.fill)
        read = read.reshape(*read.shape[:2 + self.rank], numpy.prod(self.kernel))
        result = self.reduced(read)
        result[..., self.written_last:] = 0
        return result.astype(self.data.dtype)

    def reduced(self, read):
        """One value of each window."""
        if self.reduction == "magnitude":
            finite = numpy.where(numpy.isinf(read), 0, read)
            return numpy.take_along_axis(finite, numpy.abs(finite).argmax(-1)[..., None], -1)[..., 0]
        if self.reduction in ("min", "mean", "first", "last"):
            read = numpy.where(numpy.isneginf(read), 0, read)
        reductions = {"max": lambda: read.max(-1), "min": lambda: read.min(-1), "mean": lambda: read.mean(-1),
                      "first": lambda: read[..., 0].copy(), "last": lambda: read[..., -1].copy()}
        return reductions[self.reduction]()
