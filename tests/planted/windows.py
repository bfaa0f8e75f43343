"""What Conv, ConvTranspose and MaxPool share: windows that slide over the spatial axes."""
import numpy

OUTSIDE = -1


class Axis:
    """How windows move along one axis."""

    def __init__(self, extent, kernel, stride, dilation, begin, output):
        self.extent, self.kernel, self.stride = extent, kernel, stride
        self.dilation, self.begin, self.output = dilation, begin, output

    def read(self, outside="fill", offset=0):
        """Which position each kernel position of each window reads: [output, kernel], `OUTSIDE` where there is none."""
        windows, steps = numpy.ogrid[:self.output, :self.kernel]
        return self._placed(windows * self.stride + steps * self.dilation - self.begin + offset, outside)

    def scattered(self, between="none", outside="fill", offset=0):
        """Which position adds to each output by each kernel position, if windows move over the output instead."""
        outputs, steps = numpy.ogrid[:self.output, :self.kernel]
        reached = outputs + self.begin - steps * self.dilation + offset
        places, rest = numpy.divmod(reached, self.stride)
        if between == "none":
            places = numpy.where(rest == 0, places, self.extent)  # an extent lies outside
            return numpy.where(rest == 0, self._placed(places, outside), OUTSIDE)
        return self._placed(places, outside)

    def _placed(self, places, outside):
        if outside == "edge" and self.extent:
            return numpy.clip(places, 0, self.extent - 1)
        if outside == "wrap" and self.extent:
            return places % self.extent
        if outside == "mirror" and self.extent:
            mirrored = numpy.where(places < 0, -places, places)
            mirrored = numpy.where(mirrored >= self.extent, 2 * (self.extent - 1) - mirrored, mirrored)
            return numpy.clip(mirrored, 0, self.extent - 1)
        return numpy.where((places >= 0) & (places < self.extent), places, OUTSIDE)


def gathered(values, tables, fill):
    """values[n, c, spatial…] at the positions of one table per axis: [n, c, outputs…, kernels…], `fill` outside."""
    rank = len(tables)
    padded = numpy.pad(values, [(0, 0), (0, 0)] + [(0, 1)] * rank, constant_values=fill)
    picks = []
    for axis, table in enumerate(tables):
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = table.shape
        picks.append(table.reshape(shape))
    return padded[(slice(None), slice(None), *picks)]


def inside(tables):
    """Which of the positions that `gathered` reads exist: [outputs…, kernels…]."""
    rank = len(tables)
    exists = numpy.ones([1] * (2 * rank), bool)
    for axis, table in enumerate(tables):
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = table.shape
        exists = exists & (table.reshape(shape) != OUTSIDE)
    return exists


def same_padding(total, puts_rest_first):
    """Begin and end of a padding of this size."""
    small, large = total // 2, total - total // 2
    return (large, small) if puts_rest_first else (small, large)
