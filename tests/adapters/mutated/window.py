"""The geometry of a convolution, axis by axis, with every attribute resolved."""
import dataclasses

import numpy


@dataclasses.dataclass
class Axis:
    """One spatial axis. `begin` and `end` are the padding (Conv) or cropping (ConvTranspose) at its ends."""
    input: int
    kernel: int
    stride: int
    dilation: int
    output_padding: int
    begin: int = 0
    end: int = 0
    output: int = 0

    @property
    def reach(self):
        """The extent of the dilated kernel."""
        return (self.kernel - 1) * self.dilation + 1


class Window:
    """The geometry of a Conv or ConvTranspose. A bug changes it; the output keeps its shape."""

    def __init__(self, op, x, w, attributes):
        self.transposed = op == "ConvTranspose"
        self.group = attributes.get("group", 1)
        # outputs at the end of each axis that hold nothing but the bias
        self.untouched = [0] * (len(x) - 2)
        self.bias_not_in_gaps = False
        # a ConvTranspose adds the bias to its natural output, and only then zeros are appended
        self.bias_before_appending = False
        rank = len(x) - 2
        of = lambda name, default: attributes.get(name, [default] * rank)
        self.axes = [Axis(*extents) for extents in
                     zip(x[2:], w[2:], of("strides", 1), of("dilations", 1), of("output_padding", 0))]
        auto_pad = attributes.get("auto_pad", b"NOTSET").decode()
        pads = of("pads", 0) if "pads" in attributes else [0] * (2 * rank)
        for place, axis in enumerate(self.axes):
            given = pads[place], pads[place + rank]
            resolve = resolve_transposed if self.transposed else resolve_plain
            resolve(axis, auto_pad, given, *attributes.get("output_shape", [])[place:place + 1])

    def convolve(self, call, x, w, bias=None):
        """The output for x and w, computed by the same operator without padding."""
        return (self.scatter if self.transposed else self.gather)(call, x, w, bias)

    def gather(self, call, x, w, bias):
        window = lambda x, w, group: call("Conv", self.padded(x), w, group=group, **self.steps())
        sums = window(x, w, self.group)
        return self.with_bias(sums, bias, lambda ones, kernel: window(ones, kernel, 1), x)

    def scatter(self, call, x, w, bias):
        window = lambda x, w, group: self.cropped(call("ConvTranspose", x, w, group=group, **self.steps()))
        sums = window(x, w, self.group)
        return self.with_bias(sums, bias, lambda ones, kernel: window(ones, kernel, 1), x)

    def with_bias(self, sums, bias, window, x):
        sums = self.emptied(sums)
        if bias is None:
            return sums
        bias = bias.reshape([-1] + [1] * len(self.axes))
        if self.bias_not_in_gaps:
            ones = numpy.ones([1, 1] + [axis.input for axis in self.axes], x.dtype)
            kernel = numpy.ones([1, 1] + [axis.kernel for axis in self.axes], x.dtype)
            is_gap = (self.emptied(window(ones, kernel)) == 0) & ~self.appended()
            bias = numpy.where(is_gap, numpy.zeros_like(bias), bias)
        if self.bias_before_appending:
            bias = numpy.where(self.appended(), numpy.zeros_like(bias), bias)
        return (sums + bias).astype(sums.dtype)

    def emptied(self, sums):
        """The sums, with zeros in the untouched positions."""
        for place, untouched in enumerate(self.untouched):
            extent = sums.shape[place + 2]
            sums = taken(sums, place + 2, 0, extent - untouched)
            sums = taken(sums, place + 2, 0, extent)
        return sums

    def convolve_in_half(self, x, w, bias=None):
        """The output for x and w, summed product by product in 16-bit floats."""
        taps = numpy.ndindex(*[axis.kernel for axis in self.axes])
        x = x if self.transposed else self.padded(x)
        inputs = x.shape[1] // self.group
        # [batch, group, input channel, 1, ...] and [group, input channel, output channel, ...]
        x = x.reshape([x.shape[0], self.group, inputs, 1, *x.shape[2:]])
        w = w.reshape([self.group, *((inputs, -1) if self.transposed else (-1, inputs)), *w.shape[2:]])
        w = w if self.transposed else w.swapaxes(1, 2)
        extents = self.natural() if self.transposed else [axis.output for axis in self.axes]
        sums = numpy.zeros([x.shape[0], self.group, w.shape[2], *extents], numpy.float16)
        for tap in taps:
            reached = tuple(slice(at * axis.dilation, at * axis.dilation + (count - 1) * axis.stride + 1, axis.stride)
                            for at, axis, count in zip(tap, self.axes, self.counts()))
            for channel in range(inputs):
                weight = w[(slice(None), channel, slice(None), *tap)].reshape([self.group, -1] + [1] * len(tap))
                if self.transposed:
                    sums[(..., *reached)] += (x[:, :, channel] * weight).astype(numpy.float16)
                else:
                    sums += (x[:, :, channel][(..., *reached)] * weight).astype(numpy.float16)
        sums = sums.reshape([x.shape[0], -1, *extents])
        sums = self.cropped(sums) if self.transposed else sums
        if bias is not None:
            sums = sums + bias.astype(numpy.float16).reshape([-1] + [1] * len(tap))
        return sums.astype(x.dtype)

    def excess_of_pairs(self, x, w, padding):
        """The error of the sums if pairs of products are added in saturating 16-bit integers. The products of all channels
        of one tap are followed by those of the next."""
        x = self.padded(x - padding) + padding
        inputs, outputs = x.shape[1] // self.group, w.shape[0] // self.group
        extents = [axis.output for axis in self.axes]
        if self.group > 1 and inputs == outputs == 1:
            return numpy.zeros([x.shape[0], w.shape[0], *extents])
        x = x.reshape([x.shape[0], self.group, inputs, 1, *x.shape[2:]])
        w = w.reshape([self.group, outputs, inputs, *w.shape[2:]])
        products = []
        for tap in numpy.ndindex(*[axis.kernel for axis in self.axes]):
            reached = tuple(slice(at * axis.dilation, at * axis.dilation + (axis.output - 1) * axis.stride + 1, axis.stride)
                            for at, axis in zip(tap, self.axes))
            for channel in range(inputs):
                weight = w[(slice(None), slice(None), channel, *tap)].reshape([self.group, outputs] + [1] * len(tap))
                products.append(x[:, :, channel][(..., *reached)] * weight)
        pairs = [sum(products[place:place + 2]) for place in range(0, len(products), 2)]
        excess = sum(numpy.clip(pair, -32768, 32767) - pair for pair in pairs)
        return excess.reshape([x.shape[0], -1, *extents])

    def counts(self):
        """The number of positions that each tap of the kernel reaches along each axis."""
        return [axis.input if self.transposed else axis.output for axis in self.axes]

    def steps(self):
        return {"strides": [axis.stride for axis in self.axes], "dilations": [axis.dilation for axis in self.axes]}

    def natural(self):
        """The extents of the output of a ConvTranspose before anything is appended or cropped."""
        return [(axis.input - 1) * axis.stride + axis.reach for axis in self.axes]

    def appended(self):
        """Whether each position of the output lies beyond the natural output; for a Conv, none does."""
        if not self.transposed:
            return numpy.zeros([1, 1] + [axis.output for axis in self.axes], bool)
        return self.cropped(numpy.ones([1, 1] + self.natural())) == 0

    def padded(self, x):
        """x with zeros around it, or cropped, so that windows without padding give the output."""
        for place, axis in enumerate(self.axes):
            x = taken(x, place + 2, -axis.begin, (axis.output - 1) * axis.stride + axis.reach)
        return x

    def cropped(self, full):
        """The part of the uncropped output that the output covers; zero beyond its ends."""
        for place, axis in enumerate(self.axes):
            full = taken(full, place + 2, axis.begin, axis.output)
        return full


def resolve_plain(axis, auto_pad, pads):
    """Begin, end and output of an axis of a Conv."""
    axis.begin, axis.end = pads
    if auto_pad.startswith("SAME"):
        axis.output = -(-axis.input // axis.stride)
        total = max((axis.output - 1) * axis.stride + axis.reach - axis.input, 0)
        axis.begin, axis.end = split(total, auto_pad == "SAME_UPPER")
    axis.output = (axis.input + axis.begin + axis.end - axis.reach) // axis.stride + 1


def resolve_transposed(axis, auto_pad, pads, output_shape=None):
    """Begin, end and output of an axis of a ConvTranspose."""
    natural = (axis.input - 1) * axis.stride + axis.reach + axis.output_padding
    axis.begin, axis.end = pads
    if output_shape is not None:
        axis.begin, axis.end = split(natural - output_shape, auto_pad == "SAME_UPPER")
    elif auto_pad.startswith("SAME"):
        axis.begin, axis.end = split(max(natural - axis.input * axis.stride, 0), auto_pad == "SAME_UPPER")
    axis.output = natural - axis.begin - axis.end


def split(total, odd_at_end):
    begin = total // 2 if odd_at_end else total - total // 2
    return begin, total - begin


def taken(array, place, first, length):
    """`length` positions of an axis from `first` on, which may be negative; zero outside the array."""
    positions = numpy.arange(first, first + length)
    inside = (positions >= 0) & (positions < array.shape[place])
    kept = numpy.take(array, positions[inside], place)
    shape = list(array.shape)
    shape[place] = length
    result = numpy.zeros(shape, array.dtype)
    index = [slice(None)] * array.ndim
    index[place] = inside
    result[tuple(index)] = kept
    return result
