"""The products that a convolution sums, and orders in which they may be summed."""
import itertools

import numpy


class Products:
    """The products of each output element, one for each input channel of its group and each tap of the kernel.

    All elements are computed at once, as arrays of shape [batch, group, output channel of the group, output position].
    """

    def __init__(self, window, x, w):
        self.group, self.rank = window.group, len(window.axes)
        self.extents = [axis.output for axis in window.axes]
        self.positions = int(numpy.prod(self.extents))
        inputs = x.shape[1] // self.group
        self.x = x.reshape([x.shape[0], self.group, inputs, *x.shape[2:]])
        kernel = [self.group, *((inputs, -1) if window.transposed else (-1, inputs)), *w.shape[2:]]
        w = w.reshape(kernel)
        self.w = w if window.transposed else w.swapaxes(1, 2)
        self.reached = [reached(axis, window.transposed) for axis in window.axes]
        taps = itertools.product(*[range(axis.kernel) for axis in window.axes])
        self.terms = list(itertools.product(range(inputs), taps))

    @property
    def shape(self):
        return [self.x.shape[0], self.group, self.w.shape[2], self.positions]

    def operands(self, term):
        """Both operands of a term, and where there is such a product at all: there is none in padding and between strides."""
        channel, tap = term
        places = [positions[at] for (positions, _), at in zip(self.reached, tap)]
        inside = [inside[at] for (_, inside), at in zip(self.reached, tap)]
        x = self.x[:, :, channel][(slice(None), slice(None), *numpy.ix_(*places))]
        is_product = numpy.ones(self.extents, bool)
        for place, one in enumerate(inside):
            is_product &= one.reshape([-1 if axis == place else 1 for axis in range(self.rank)])
        w = self.w[(slice(None), channel, slice(None), *tap)]
        return x.reshape([*x.shape[:2], 1, self.positions]), w[None, :, :, None], is_product.reshape(-1)

    def of(self, term):
        x, w, is_product = self.operands(term)
        product = x * w
        return product if is_product.all() else numpy.where(is_product, product, product.dtype.type(0))

    def output(self, sums):
        return sums.reshape([sums.shape[0], self.group * self.w.shape[2], *self.extents])


def reached(axis, transposed):
    """For each tap and output position of an axis the input position that they connect, and whether there is one."""
    outputs, taps = numpy.arange(axis.output), numpy.arange(axis.kernel)[:, None]
    if transposed:
        scaled = outputs + axis.begin - taps * axis.dilation
        positions, inside = scaled // axis.stride, scaled % axis.stride == 0
    else:
        positions, inside = outputs * axis.stride - axis.begin + taps * axis.dilation, True
    inside = inside & (positions >= 0) & (positions < axis.input)
    return numpy.where(inside, positions, 0), inside


def in_order(products, bias):
    sums = sum((products.of(term) for term in products.terms), numpy.zeros(products.shape, numpy.float32))
    return sums if bias is None else sums + bias


def in_reverse(products, bias):
    """From the last term to the first, on top of the bias."""
    sums = numpy.zeros(products.shape, numpy.float32) + (0 if bias is None else bias)
    return sum((products.of(term) for term in reversed(products.terms)), sums.astype(numpy.float32))


def pairwise(products, bias):
    """Sums of sums of neighbors."""
    def tree(terms):
        if len(terms) == 1:
            return products.of(terms[0])
        return tree(terms[:len(terms) // 2]) + tree(terms[len(terms) // 2:])
    sums = tree(products.terms) if products.terms else numpy.zeros(products.shape, numpy.float32)
    return sums if bias is None else sums + bias


def in_blocks(products, bias, size=4):
    """One sum for each place in a block, and their sum: what a vector unit does."""
    lanes = [products.terms[lane::size] for lane in range(size)]
    partial = [sum(map(products.of, lane), numpy.zeros(products.shape, numpy.float32)) for lane in lanes]
    sums = (partial[0] + partial[2]) + (partial[1] + partial[3])
    return sums if bias is None else sums + bias


def fused(products, bias):
    """Each product is added without having been rounded, as a fused multiply-add does."""
    sums = numpy.zeros(products.shape, numpy.float32) + (0 if bias is None else bias)
    for term in products.terms:
        x, w, is_product = products.operands(term)
        exact = numpy.where(is_product, x.astype(numpy.float64) * w.astype(numpy.float64), 0.0)
        sums = (sums.astype(numpy.float64) + exact).astype(numpy.float32)
    return sums.astype(numpy.float32)


def in_double(products, bias):
    """In 64-bit floats, rounded once."""
    sums = numpy.zeros(products.shape, numpy.float64) + (0 if bias is None else bias.astype(numpy.float64))
    for term in products.terms:
        x, w, is_product = products.operands(term)
        sums = sums + numpy.where(is_product, x.astype(numpy.float64) * w.astype(numpy.float64), 0.0)
    return sums.astype(numpy.float32)


ORDERS = {"in-order": in_order, "in-reverse": in_reverse, "pairwise": pairwise, "in-blocks": in_blocks, "fused": fused,
          "in-double": in_double}
