"""Convolutions by algorithms that transform their operands: Winograd's with small tiles, and the fast Fourier transform."""
import fractions, functools, itertools

import numpy

POINTS = [fractions.Fraction(*point) for point in ((0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 2), (-1, 2))]


@functools.cache
def matrices(outputs, taps):
    """The matrices of F(outputs, taps) for output, kernel and input, by the construction of Toom and Cook."""
    points = POINTS[:outputs + taps - 2]
    powers = lambda point, count: [point ** power for power in range(count)]
    without = lambda place: [other for at, other in enumerate(points) if at != place]
    scale = [functools.reduce(lambda product, other: product * (point - other), without(place), fractions.Fraction(1))
             for place, point in enumerate(points)]
    last = lambda count: [fractions.Fraction(0)] * (count - 1) + [fractions.Fraction(1)]
    output = [powers(point, outputs) for point in points] + [last(outputs)]
    kernel = [[power / scale[place] for power in powers(point, taps)] for place, point in enumerate(points)] + [last(taps)]
    padded = lambda factors: factors + [fractions.Fraction(0)] * (len(points) + 1 - len(factors))
    inputs = [padded(polynomial(without(place))) for place in range(len(points))] + [padded(polynomial(points))]
    as_floats = lambda rows: numpy.array([[float(entry) for entry in row] for row in rows], numpy.float32)
    return as_floats(output).T, as_floats(kernel), as_floats(inputs)


def polynomial(roots):
    """The coefficients of the product of x - root, from the lowest power on."""
    coefficients = [fractions.Fraction(1)]
    for root in roots:
        shifted, scaled = [fractions.Fraction(0)] + coefficients, [-root * one for one in coefficients] + [fractions.Fraction(0)]
        coefficients = [one + other for one, other in zip(shifted, scaled)]
    return coefficients


def along(matrix, array, axis):
    return numpy.moveaxis(numpy.tensordot(matrix, array, (1, axis)), 0, axis)


def as_correlation(window, x, w):
    """The padded input and the kernel [group, output, input, taps...] of a convolution whose strides and dilations are 1."""
    inputs = x.shape[1] // window.group
    w = w.reshape([window.group, *((inputs, -1) if window.transposed else (-1, inputs)), *w.shape[2:]])
    if window.transposed:
        w = numpy.flip(w.swapaxes(1, 2), range(3, w.ndim))
    for place, axis in enumerate(window.axes):
        begin = axis.kernel - 1 - axis.begin if window.transposed else axis.begin
        first, needed = -begin, axis.output + axis.kernel - 1
        positions = numpy.arange(first, first + needed)
        inside = (positions >= 0) & (positions < axis.input)
        kept = numpy.take(x, numpy.where(inside, positions, 0), place + 2)
        shape = [-1 if at == place + 2 else 1 for at in range(x.ndim)]
        x = numpy.where(inside.reshape(shape), kept, numpy.float32(0))
    return x.reshape([x.shape[0], window.group, inputs, *x.shape[2:]]), w


def fits(window):
    steps = [(axis.stride, axis.dilation) for axis in window.axes]
    taps = [axis.kernel for axis in window.axes]
    return all(step == (1, 1) for step in steps) and max(taps, default=1) >= 2


def winograd(outputs, window, x, w):
    """F(outputs, kernel) along the last two axes at most with kernels of 3 or 5; nothing where there is none. The others are summed."""
    tiled = [place for place, axis in enumerate(window.axes) if axis.kernel in (3, 5)][-2:]
    if not fits(window) or not tiled:
        return None
    x, w = as_correlation(window, x, w)
    others = [place for place in range(len(window.axes)) if place not in tiled]
    sums = None
    for taps in itertools.product(*(range(window.axes[place].kernel) for place in others)):
        at = dict(zip(others, taps))
        shifted = tuple(slice(at[place], at[place] + axis.output) if place in at else slice(None) for place, axis in enumerate(window.axes))
        part = (Ellipsis, *[slice(at[place], at[place] + 1) if place in at else slice(None) for place in range(len(window.axes))])
        transformed = tiles(outputs, window, tiled, x[(Ellipsis, *shifted)], w[part])
        sums = transformed if sums is None else sums + transformed
    return sums.reshape([sums.shape[0], sums.shape[1] * sums.shape[2], *sums.shape[3:]])


def tiles(outputs, window, tiled, x, w):
    """F(outputs, kernel) along the axes `tiled`; the kernel has one element along the others."""
    steps = [outputs if place in tiled else axis.output for place, axis in enumerate(window.axes)]
    extents = [axis.kernel + outputs - 1 if place in tiled else axis.output for place, axis in enumerate(window.axes)]
    counts = [-(-axis.output // step) for axis, step in zip(window.axes, steps)]
    transforms = [(place + 3, matrices(outputs, window.axes[place].kernel)) for place in tiled]
    for place in tiled:
        missing = counts[place] * outputs + window.axes[place].kernel - 1 - x.shape[place + 3]
        x = numpy.pad(x, [(0, missing) if at == place + 3 else (0, 0) for at in range(x.ndim)])
    for axis, (_, kernel, _) in transforms:
        w = along(kernel, w, axis)
    sums = numpy.zeros([*x.shape[:2], w.shape[1], *[count * step for count, step in zip(counts, steps)]], numpy.float32)
    for tile in itertools.product(*map(range, counts)):
        part = x[(..., *[slice(at * step, at * step + extent) for at, step, extent in zip(tile, steps, extents)])]
        for axis, (_, _, inputs) in transforms:
            part = along(inputs, part, axis)
        summed = (part[:, :, None] * w[None]).sum(3, dtype=numpy.float32)
        for axis, (output, _, _) in transforms:
            summed = along(output, summed, axis)
        sums[(..., *[slice(at * step, (at + 1) * step) for at, step in zip(tile, steps)])] = summed
    return sums[(..., *[slice(axis.output) for axis in window.axes])]


def fourier(window, x, w):
    """By the fast Fourier transform in 32-bit floats, over the next power of two on each axis."""
    if not fits(window):
        return None
    x, w = as_correlation(window, x, w)
    axes, extents = tuple(range(3, x.ndim)), [1 << (extent - 1).bit_length() for extent in x.shape[3:]]
    x, w = numpy.fft.rfftn(x, extents, axes), numpy.fft.rfftn(w, extents, axes)
    assert x.dtype == numpy.complex64
    summed = (x[:, :, None] * w[None].conj()).sum(3)
    sums = numpy.fft.irfftn(summed, extents, axes)[(..., *[slice(axis.output) for axis in window.axes])]
    return sums.reshape([sums.shape[0], sums.shape[1] * sums.shape[2], *sums.shape[3:]])
