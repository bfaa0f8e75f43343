"""QuantizeLinear and DequantizeLinear, from ONNX's specification of the operators."""
import numpy

import edits
import precision
from facts import Fact, Facts

ROUNDING = Fact("rounding", "rounding", {words: (lambda facts, value, other=other: other) for words, other in {
    "goes away from zero at ties": "half-away", "goes up at ties": "half-up", "goes down at ties": "half-down",
    "goes to odd numbers at ties": "half-odd", "goes toward zero at ties": "half-in",
    "truncates": "toward-zero", "goes down": "down", "goes up": "up"}.items()})
STEPS = {"divided": "divides", "rounded": "rounds", "shifted": "adds the zero point", "saturated": "saturates"}
AXIS = Fact("axis", "axis", {
    "is read as 1": lambda facts, value: 1,
    "is read as 0": lambda facts, value: 0,
    "is read as the last": lambda facts, value: facts.rank - 1,
    "is counted from the other end": lambda facts, value: facts.rank - 1 - value,
    "is one later": lambda facts, value: min(value + 1, facts.rank - 1),
    "is one earlier": lambda facts, value: max(value - 1, 0)})


def bounds(words, which):
    """Edits of the smallest or the largest integer."""
    return Fact(which, words, {
        "is one nearer to the zero point": lambda facts, value: value + (1 if which == "least" else -1),
        "is that of 7 bits": lambda facts, value: (value + 1) // 2 if which == "least" else value // 2,
        "is missing: integers wrap around": lambda facts, value: None,
        "is that of the other signedness": lambda facts, value: value + (128 if facts.least == -128 else -128),
        "is symmetric to the other": lambda facts, value: -facts.greatest if which == "least" else value,
    })


PARAMETERS = [
    Fact("scale_index", "the entry of the scale", edits.index_map()),
    Fact("zero_point_index", "the entry of the zero point", edits.index_map()),
    Fact("zero_point", "the zero point", {
        **edits.parameter(0), "is read with the other signedness": lambda facts, value: value + numpy.where(value < 0, 256, numpy.where(value > 127, -256, 0)),
        "is taken for 128": lambda facts, value: value * 0 + 128, "is one too large": lambda facts, value: value + 1}),
    Fact("scale", "the scale", {
        "is rounded to BFLOAT16": lambda facts, value: precision.to_bfloat(value),
        "is rounded to FLOAT16": lambda facts, value: precision.to_half(value),
        "is rounded to a power of two": lambda facts, value: 2.0 ** numpy.rint(numpy.log2(numpy.abs(value) + 1e-300)),
        "is the mean of all": lambda facts, value: value * 0 + value.mean(),
        "is the largest of all": lambda facts, value: value * 0 + value.max(),
        "is at least 1/256": lambda facts, value: numpy.maximum(value, 1 / 256)}),
    Fact("sample", "the sample that is read", edits.index_map()),
    Fact("written", "the range of axis 1 that is quantized by its own entries", edits.extent(0)),
]


class Quantizer(Facts):
    """What QuantizeLinear and DequantizeLinear share."""

    STATED = (AXIS,)

    def __init__(self, node, inputs, context):
        super().__init__(node, inputs, context)
        self.values, self.rank = inputs[0], inputs[0].ndim
        axis = node.attributes.get("axis", 1)
        self.axis = axis + self.rank if axis < 0 else axis
        zero_point = self.optional(2)
        self.has_zero_point = zero_point is not None
        self.scale_type = inputs[1].dtype
        self.scale = inputs[1].astype("float64").reshape(-1)
        self.zero_point = zero_point.astype("float64").reshape(-1) if self.has_zero_point else numpy.zeros(self.scale.size)
        self.integer = self.integer_type(zero_point)

    def resolve(self):
        self.per_axis = self.scale.size > 1
        self.scale_index = numpy.arange(self.scale.size)
        self.zero_point_index = numpy.arange(self.zero_point.size)
        self.written = self.values.shape[1] if self.rank > 1 else 0
        self.sample = numpy.arange(self.values.shape[0] if self.rank else 1)
        limits = numpy.iinfo(self.integer)
        self.least, self.greatest = limits.min, limits.max

    def spread(self, parameter, index):
        """A parameter in the shape that broadcasts to the values."""
        if parameter.size == 1:
            return parameter.reshape([1] * self.rank)
        extent = self.values.shape[self.axis]
        entries = parameter[index]
        entries = entries[numpy.arange(extent) % entries.size]  # an axis that is not the scale's reads them in turn
        return entries.reshape([extent if axis == self.axis else 1 for axis in range(self.rank)])

    def parameters(self):
        """Scale and zero point in shapes that broadcast to the values."""
        scale, zero_point = self.spread(self.scale, self.scale_index), self.spread(self.zero_point, self.zero_point_index)
        if self.rank > 1 and self.written < self.values.shape[1]:
            beyond = (numpy.arange(self.values.shape[1]) >= self.written).reshape([1, -1] + [1] * (self.rank - 2))
            scale = numpy.where(beyond, self.scale[0], scale)
            zero_point = numpy.where(beyond, 0, zero_point)
        return scale, zero_point

    def read(self):
        """The values, each sample as its map says."""
        values = self.values.astype("float64")
        return values[self.sample] if self.rank else values


class QuantizeLinear(Quantizer):
    """The facts of a QuantizeLinear."""

    DERIVED = (AXIS, *PARAMETERS, ROUNDING, bounds("the smallest integer", "least"), bounds("the largest integer", "greatest"),
               Fact("steps", "the value", edits.steps(STEPS)),
               Fact("pair", "the pair with DequantizeLinear", edits.choice(is_removed="removed", saturates_but_does_not_round="saturated")),
               Fact("division", "the division", edits.choice(multiplies_by_the_reciprocal_in_half_precision="FLOAT16",
                                                              multiplies_by_the_reciprocal_in_BFLOAT16="BFLOAT16")),
               Fact("data_format", "the data", edits.formats()),
               Fact("infinite", "an infinite value", edits.choice(becomes_the_zero_point="zero-point")),
               Fact("lower", "the data", edits.choice(loses_its_negative_values="positive")))

    def integer_type(self, zero_point):
        return zero_point.dtype if self.has_zero_point else numpy.dtype("uint8")

    def resolve(self):
        super().resolve()
        self.rounding, self.steps, self.pair = "half-even", list(STEPS), "kept"
        self.division = self.data_format = None
        self.infinite, self.lower = "saturated", "any"
        self.only_dequantized = self.context.readers == ["DequantizeLinear"]

    def compute(self):
        scale, zero_point = self.parameters()
        values = self.read()
        if self.data_format:
            values = precision.FORMATS[self.data_format](values)
        if self.infinite == "zero-point":
            values = numpy.where(numpy.isinf(values), 0, values)
        if self.lower == "positive":
            values = numpy.maximum(values, 0)
        for step in self.steps:
            values = getattr(self, step)(values, scale, zero_point)
        if self.pair != "kept" and self.only_dequantized:
            return values
        values = numpy.where(numpy.isfinite(values), values, numpy.where(numpy.isnan(values), 0, numpy.sign(values) * 2.0**40))
        return values.astype("int64").astype(self.integer)

    def divided(self, values, scale, zero_point):
        """The quotient by the scale."""
        if self.division:
            return values * precision.FORMATS[self.division](1 / scale)
        return values / scale

    def rounded(self, values, scale, zero_point):
        """The nearest integer."""
        return values if self.pair != "kept" and self.only_dequantized else ROUNDINGS[self.rounding](values)

    @staticmethod
    def shifted(values, scale, zero_point):
        """The sum with the zero point."""
        return values + zero_point

    def saturated(self, values, scale, zero_point):
        """The nearest value within the range."""
        if self.pair == "removed" and self.only_dequantized:
            return values
        if self.least is None or self.greatest is None:
            low, high = self.least, self.greatest
            values = values if low is None else numpy.maximum(values, low)
            return values if high is None else numpy.minimum(values, high)
        return numpy.minimum(numpy.maximum(values, self.least), self.greatest)


ROUNDINGS = {
    "half-even": numpy.rint,
    "half-away": lambda values: numpy.where(numpy.isfinite(values), numpy.copysign(numpy.floor(numpy.abs(values) + 0.5), values), values),
    "half-in": lambda values: numpy.where(numpy.isfinite(values), numpy.copysign(numpy.ceil(numpy.abs(values) - 0.5), values), values),
    "half-up": lambda values: numpy.floor(values + 0.5),
    "half-down": lambda values: numpy.ceil(values - 0.5),
    "half-odd": lambda values: numpy.where(numpy.abs(values % 1 - 0.5) == 0, numpy.floor(values) + (numpy.floor(values) % 2 == 0), numpy.rint(values)),
    "toward-zero": numpy.trunc,
    "down": numpy.floor,
    "up": numpy.ceil,
}


class DequantizeLinear(Quantizer):
    """The facts of a DequantizeLinear."""

    DERIVED = (AXIS, *PARAMETERS,
               Fact("order", "the integer", edits.choice(is_scaled_before_the_zero_point_is_subtracted="scaled-first")),
               Fact("width", "the difference to the zero point", edits.choice(
                   wraps_around_in_8_bits="wrapped", saturates_in_8_bits="saturated", is_at_least_zero="positive")),
               Fact("signedness", "the integer", edits.choice(is_read_with_the_other_signedness="other", loses_its_sign="absolute",
                                                               loses_its_lowest_bit="even", of_the_smallest_value_is_read_as_the_next="narrow",
                                                               is_read_with_16_bits="short")),
               Fact("result_format", "the result", edits.formats()),
               Fact("product", "the product with the scale", edits.choice(divides_instead="divided")))

    def integer_type(self, zero_point):
        return self.values.dtype if self.values.dtype.kind in "iu" else numpy.dtype("int8")

    def resolve(self):
        super().resolve()
        self.order, self.width, self.signedness = "shifted-first", "wide", "own"
        self.result_format, self.product = None, "multiplied"

    def read(self):
        values = super().read()
        if self.signedness == "other":
            values = values + numpy.where(values < 0, 256, numpy.where((values > 127) & (self.integer == "uint8"), -256, 0))
        elif self.signedness == "absolute":
            values = numpy.abs(values)
        elif self.signedness == "even":
            values = numpy.floor(values / 2) * 2
        elif self.signedness == "narrow":
            values = numpy.maximum(values, self.least + 1)
        elif self.signedness == "short":
            values = (values + 32768) % 65536 - 32768
        return values

    def compute(self):
        scale, zero_point = self.parameters()
        values = self.read()
        if self.order == "scaled-first":
            result = values * scale - zero_point
        else:
            difference = self.within(values - zero_point)
            result = difference / scale if self.product == "divided" else difference * scale
        if self.result_format:
            result = precision.FORMATS[self.result_format](result)
        return result.astype(self.scale_type)

    def within(self, difference):
        """The difference in the width of the edit."""
        if self.width == "wrapped":
            return (difference + 128) % 256 - 128
        if self.width == "saturated":
            return numpy.clip(difference, -128, 127)
        return numpy.maximum(difference, 0) if self.width == "positive" else difference
