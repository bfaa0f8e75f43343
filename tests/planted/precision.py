"""Rounding to floating-point formats with fewer bits than the values have."""
import numpy


def to_half(values):
    """The nearest 16-bit floats; what is too large becomes infinite."""
    return numpy.asarray(values, "float64").astype("float16").astype("float64")


def to_bfloat(values):
    """The nearest bfloat16 numbers, ties to even."""
    return _rounded(values, 16)


def to_tf32(values):
    """The nearest numbers with the 10 bits of mantissa of TF32."""
    return _rounded(values, 13)


def _rounded(values, dropped):
    single = numpy.asarray(values, "float64").astype("float32")
    bits = single.view("uint32")
    tie = (bits >> dropped) & 1
    rounded = (bits + (numpy.uint32((1 << (dropped - 1)) - 1) + tie)) & ~numpy.uint32((1 << dropped) - 1)
    return numpy.where(numpy.isfinite(single), rounded.astype("uint32").view("float32"), single).astype("float64")


FORMATS = {"FLOAT16": to_half, "BFLOAT16": to_bfloat, "TF32": to_tf32}
