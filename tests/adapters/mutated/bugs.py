"""Bugs for which golden has a mutant, one function each, named like the mutant. They are independent of golden: each
changes what ONNX Runtime computes, or computes one operator in numpy."""
import numpy

from .session import Origin, attributes_of
from .window import Window

BUGS = {}
CONVOLUTIONS = ("Conv", "ConvTranspose")
POOLS = ("AveragePool", "MaxPool")


def bug(*operators):
    """A bug of these operators, by the function's name."""
    def register(change):
        BUGS[change.__name__.replace("_", "-")] = lambda step: change(step) if step.op in operators else None
        return change
    return register


# Convolutions: the output keeps its shape

@bug(*CONVOLUTIONS)
def pad_shifted(step):
    for axis in step.window.axes:
        axis.begin += 1


@bug(*CONVOLUTIONS)
def pads_swapped(step):
    if "pads" in step.attributes:
        middle = len(step.attributes["pads"]) // 2
        step.attributes["pads"] = step.attributes["pads"][middle:] + step.attributes["pads"][:middle]


@bug(*CONVOLUTIONS)
def groups_interleaved(step):
    x, group = step.inputs[0], step.window.group
    step.inputs[0] = x.reshape([x.shape[0], -1, group, *x.shape[2:]]).swapaxes(1, 2).reshape(x.shape)


@bug(*CONVOLUTIONS)
def groups_collapsed(step):
    x, group = step.inputs[0], step.window.group
    first = x[:, :x.shape[1] // group]
    step.inputs[0] = numpy.concatenate([first] * group, 1)


@bug(*CONVOLUTIONS)
def groups_dealt(step):
    x, w, group = step.inputs[0], step.inputs[1], step.window.group
    inputs = x.shape[1] // group
    outputs = w.shape[1] if step.op == "ConvTranspose" else w.shape[0] // group
    # one group per output channel, fed by the group of input channels that it is wrongly assigned to
    fed = [x[:, (m % group) * inputs:][:, :inputs] for m in range(group * outputs)]
    if step.op == "ConvTranspose":
        w = w.reshape([group, inputs, outputs, *w.shape[2:]]).swapaxes(1, 2)
        step.inputs[1] = w.reshape([group * outputs * inputs, 1, *w.shape[3:]])
    step.inputs[0], step.window.group = numpy.concatenate(fed, 1), group * outputs


@bug(*CONVOLUTIONS)
def weight_channels_exchanged(step):
    x, w, group = step.inputs[0], step.inputs[1], step.window.group
    inputs = x.shape[1] // group
    outputs = w.shape[1] if step.op == "ConvTranspose" else w.shape[0] // group
    read = (outputs, inputs) if step.op == "ConvTranspose" else (inputs, outputs)
    step.inputs[1] = w.reshape([group, *read, *w.shape[2:]]).swapaxes(1, 2).reshape(w.shape)


@bug(*CONVOLUTIONS)
def kernel_reversed(step):
    step.inputs[1] = numpy.flip(step.inputs[1], range(2, step.inputs[1].ndim))


@bug("ConvTranspose")
def output_padding_ignored(step):
    step.window.untouched = [axis.output_padding for axis in step.window.axes]


@bug("ConvTranspose")
def output_padding_in_front(step):
    for axis in step.window.axes:
        axis.begin -= axis.output_padding


@bug(*CONVOLUTIONS)
def dilation_ignored(step):
    for axis in step.window.axes:
        axis.dilation = 1


@bug(*CONVOLUTIONS)
def stride_short(step):
    for axis in step.window.axes:
        axis.stride = max(axis.stride - 1, 1)


@bug(*CONVOLUTIONS)
def bias_dropped(step):
    step.bias = None


@bug(*CONVOLUTIONS)
def bias_not_in_gaps(step):
    step.window.bias_not_in_gaps = True


@bug("ConvTranspose")
def bias_not_on_strip(step):
    step.window.bias_before_appending = True


@bug(*CONVOLUTIONS, *POOLS)
def same_swapped(step):
    other = {b"SAME_UPPER": b"SAME_LOWER", b"SAME_LOWER": b"SAME_UPPER"}
    if step.attributes.get("auto_pad") in other:
        step.attributes["auto_pad"] = other[step.attributes["auto_pad"]]


@bug(*CONVOLUTIONS, *POOLS)
def same_upper_as_lower(step):
    if step.attributes.get("auto_pad") == b"SAME_UPPER":
        step.attributes["auto_pad"] = b"SAME_LOWER"


@bug(*CONVOLUTIONS, *POOLS)
def same_lower_as_upper(step):
    if step.attributes.get("auto_pad") == b"SAME_LOWER":
        step.attributes["auto_pad"] = b"SAME_UPPER"


@bug("ConvTranspose")
def output_shape_split_swapped(step):
    if "output_shape" in step.attributes and step.attributes.get("auto_pad") not in (b"SAME_UPPER", b"SAME_LOWER"):
        for axis in step.window.axes:
            axis.begin, axis.end = axis.end, axis.begin


# Attributes: most outputs get another shape

@bug(*CONVOLUTIONS, *POOLS)
def same_as_valid(step):
    if step.attributes.get("auto_pad", b"").startswith(b"SAME") and "output_shape" not in step.attributes:
        step.attributes["auto_pad"] = b"VALID"


@bug("ConvTranspose")
def output_padding_dropped(step):
    step.attributes.pop("output_padding", None)


@bug("ConvTranspose")
def output_shape_ignored(step):
    step.attributes.pop("output_shape", None)


@bug(*CONVOLUTIONS, "MaxPool")
def pads_alike(step):
    if "pads" in step.attributes:
        begins = step.attributes["pads"][:len(step.attributes["pads"]) // 2]
        step.attributes["pads"] = begins + begins


# Quantization

def elide(step, origins):
    """Leaves out a DequantizeLinear and the QuantizeLinear in front of it."""
    quantizer = step.producer()
    if quantizer is not None and quantizer.op_type == "QuantizeLinear" and step.origin in origins:
        source = step.value_of(quantizer.input[0])
        if source.dtype == step.inputs[1].dtype:
            step.result = source


@bug("DequantizeLinear")
def weights_unquantized(step):
    elide(step, {Origin.CONSTANT})


@bug("DequantizeLinear")
def activations_unquantized(step):
    elide(step, {Origin.FED, Origin.COMPUTED})


@bug("DequantizeLinear")
def results_unquantized(step):
    elide(step, {Origin.COMPUTED})


def pair_in_front(step, dequantizer):
    """The QuantizeLinear in front of a DequantizeLinear, the type between them, and their scale and zero point if both have the same; or None."""
    if dequantizer is None or dequantizer.op_type != "DequantizeLinear":
        return None
    quantizer = step.session.producers.get(dequantizer.input[0])
    if quantizer is None or quantizer.op_type != "QuantizeLinear":
        return None
    pairs = set()
    for node in (quantizer, dequantizer):
        scale, *zero_point = [step.value_of(name) for name in node.input[1:] if name]
        if scale.size != 1 or scale.dtype != numpy.float32:
            return None
        pairs.add((numpy.float32(scale.item()), zero_point[0].item() if zero_point else 0))
    return (quantizer, step.value_of(quantizer.output[0]).dtype, *pairs) if len(pairs) == 1 else None


@bug("DequantizeLinear")
def quantizer_pairs_merged(step):
    second = pair_in_front(step, step.node)
    first = second and pair_in_front(step, step.session.producers.get(second[0].input[0]))
    if not first or first[1] != second[1] or first[2] == second[2]:
        return
    quantizer, dtype, _ = first
    lowest, highest = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    pairs = [first[2], second[2]]
    least = max(numpy.float32(lowest - zero_point) * scale for scale, zero_point in pairs)
    largest = min(numpy.float32(highest - zero_point) * scale for scale, zero_point in pairs)
    scale = (largest - least) / numpy.float32(highest - lowest)
    if scale > 0:
        ideal = numpy.float32(lowest) - least / scale
        nearest = numpy.copysign(numpy.floor(abs(ideal) + numpy.float32(0.5)), ideal)
        parameters = numpy.array(scale), numpy.array(nearest, dtype)
        integers = step.call("QuantizeLinear", step.value_of(quantizer.input[0]), *parameters)
        step.result = step.call("DequantizeLinear", integers, *parameters)


@bug("QuantizeLinear")
def quantized_axes_exchanged(step):
    x, scale = step.inputs[0], step.inputs[1]
    if x.ndim == 3 and scale.size > 1 and step.origin_of(step.node.input[0]) is not Origin.CONSTANT:
        integers, common = step.run(), min(x.shape[:2])
        step.result = numpy.zeros_like(integers)
        step.result[:common, :common] = integers[:common, :common].swapaxes(0, 1)


def move_scales(step, to_first, from_first):
    """Applies scales and zero points along axis 0 if they are along another one, or along axis 1 if they are along axis 0.

    What has no scale of its own takes the first one.
    """
    rank, parameters = step.inputs[0].ndim, step.inputs[1:]
    if rank < 2 or parameters[0].size == 1:
        return
    is_first = step.attributes.get("axis", 1) % rank == 0
    if from_first if is_first else to_first:
        step.attributes["axis"] = 1 if is_first else 0
        extent = step.inputs[0].shape[step.attributes["axis"]]
        own = numpy.arange(extent)
        index = numpy.where(own < parameters[0].size, own, 0)
        step.inputs[1:] = [parameter[index] for parameter in parameters]


@bug("QuantizeLinear", "DequantizeLinear")
def scale_on_other_axis(step):
    move_scales(step, to_first=True, from_first=True)


@bug("QuantizeLinear", "DequantizeLinear")
def scale_along_axis_1(step):
    move_scales(step, to_first=False, from_first=True)


@bug("QuantizeLinear", "DequantizeLinear")
def scale_along_axis_0(step):
    move_scales(step, to_first=True, from_first=False)


@bug("DequantizeLinear")
def dequantized_on_other_axis(step):
    move_scales(step, to_first=True, from_first=True)


@bug("DequantizeLinear")
def dequantized_along_axis_1(step):
    move_scales(step, to_first=False, from_first=True)


@bug("DequantizeLinear")
def dequantized_along_axis_0(step):
    move_scales(step, to_first=True, from_first=False)


@bug("QuantizeLinear", "DequantizeLinear")
def first_scale_for_all(step):
    if step.inputs[0].ndim > 1:
        step.inputs[1:] = [parameter.reshape(-1)[:1].reshape(()) for parameter in step.inputs[1:]]


def without_zero_point(step):
    """The inputs with a zero point of zero: without one, the result of QuantizeLinear would be uint8."""
    if len(step.inputs) > 2 and step.inputs[2] is not None:
        step.inputs[2] = numpy.zeros_like(step.inputs[2])


@bug("QuantizeLinear", "DequantizeLinear")
def zero_point_ignored(step):
    if step.origin != Origin.CONSTANT:
        without_zero_point(step)


@bug("DequantizeLinear")
def activation_zero_point_kept(step):
    if step.origin != Origin.CONSTANT:
        without_zero_point(step)


@bug("DequantizeLinear")
def weight_zero_point_kept(step):
    if step.origin == Origin.CONSTANT:
        without_zero_point(step)


@bug("DequantizeLinear")
def unsigned_as_signed(step):
    if step.inputs[0].dtype == numpy.uint8:
        read = lambda array: None if array is None else array.view(numpy.int8)
        step.inputs = [read(step.inputs[0]), step.inputs[1], *map(read, step.inputs[2:])]


@bug("QuantizeLinear", "DequantizeLinear")
def uint8_as_int8(step):
    if step.op == "DequantizeLinear":
        return unsigned_as_signed(step)
    zero_point = step.inputs[2] if len(step.inputs) > 2 and step.inputs[2] is not None else None
    if zero_point is None:
        zero_point = numpy.zeros(step.inputs[1].shape, numpy.uint8)
    if zero_point.dtype == numpy.uint8:
        step.inputs[2:] = [zero_point.view(numpy.int8)]
        step.result = step.run().view(numpy.uint8)


def parameters(step):
    """Scale and zero point of a QuantizeLinear, in the shape of its data."""
    x, scale = step.inputs[:2]
    zero_point = step.inputs[2] if len(step.inputs) > 2 and step.inputs[2] is not None else numpy.uint8(0)
    if scale.size > 1:
        shape = [1] * x.ndim
        shape[step.attributes.get("axis", 1) % x.ndim] = scale.size
        scale, zero_point = scale.reshape(shape), zero_point.reshape(shape)
    return scale, zero_point


def quantize(step, rounded, fit):
    """QuantizeLinear in numpy, with the given rounding and saturation."""
    x, (scale, zero_point) = step.inputs[0], parameters(step)
    integers = rounded((x / scale).astype(x.dtype).astype(numpy.float64)) + zero_point.astype(numpy.float64)
    limits = numpy.iinfo(zero_point.dtype)
    integers = numpy.where(numpy.isfinite(integers), fit(integers, limits), numpy.clip(integers, limits.min, limits.max))
    step.result = integers.astype(zero_point.dtype)


def saturated(integers, limits):
    return numpy.clip(integers, limits.min, limits.max)


@bug("QuantizeLinear")
def rounded_half_away(step):
    quantize(step, lambda scaled: numpy.copysign(numpy.floor(numpy.abs(scaled) + 0.5), scaled), saturated)


@bug("QuantizeLinear")
def zero_point_before_rounding(step):
    x, (scale, zero_point) = step.inputs[0], parameters(step)
    limits = numpy.iinfo(zero_point.dtype)
    shifted = x.astype(numpy.float64) / scale.astype(numpy.float64) + zero_point.astype(numpy.float64)
    step.result = numpy.clip(numpy.rint(shifted), limits.min, limits.max).astype(zero_point.dtype)


@bug("QuantizeLinear")
def truncated(step):
    quantize(step, numpy.trunc, saturated)


@bug("QuantizeLinear")
def wrapped(step):
    count = lambda limits: limits.max - limits.min + 1
    quantize(step, numpy.rint, lambda integers, limits: (integers - limits.min) % count(limits) + limits.min)


@bug("QuantizeLinear")
def narrow_range(step):
    quantize(step, numpy.rint, lambda integers, limits: numpy.clip(integers, max(limits.min, -limits.max), limits.max))


INT32 = numpy.iinfo(numpy.int32)


def quantize_through_int32(step, hold, divided_in=numpy.float64):
    """Quantizes to what `hold` makes of the integers in 32 bits, plus the zero point with wraparound."""
    x, (scale, zero_point) = step.inputs[0], parameters(step)
    with numpy.errstate(over="ignore"):
        integers = numpy.rint(x.astype(divided_in) / scale.astype(divided_in)).astype(numpy.float64)
    limits = numpy.iinfo(zero_point.dtype)
    sums = (hold(integers).astype(numpy.int64) + zero_point.astype(numpy.int64)).astype(numpy.int32)
    step.result = numpy.clip(sums, limits.min, limits.max).astype(zero_point.dtype)


@bug("QuantizeLinear")
def quantized_through_int32(step):
    is_held = lambda integers: (integers >= INT32.min) & (integers <= INT32.max)
    quantize_through_int32(step, lambda integers: numpy.where(is_held(integers), integers, INT32.min))


@bug("QuantizeLinear")
def quantized_through_saturating_int32(step):
    hold = lambda integers: numpy.clip(integers, INT32.min, INT32.max)
    quantize_through_int32(step, hold, divided_in=step.inputs[0].dtype)


def scale_behind(step, place):
    """The scale with which an input was dequantized, or None."""
    dequantizer = step.producer(place)
    if dequantizer is not None and dequantizer.op_type == "DequantizeLinear":
        return step.value_of(dequantizer.input[1])
    return None


@bug(*CONVOLUTIONS)
def bias_in_product_steps(step):
    x, w = scale_behind(step, 0), scale_behind(step, 1)
    if step.bias is not None and x is not None and w is not None and x.size == 1 and w.size in (1, step.bias.size):
        with numpy.errstate(over="ignore"):
            one = x.reshape(()) * numpy.resize(w, step.bias.shape)
            steps = numpy.rint(step.bias / one).astype(numpy.float64)
        steps = numpy.where((steps >= INT32.min) & (steps <= INT32.max), steps, INT32.min)
        step.bias = (steps * one).astype(step.bias.dtype)


def takers_of(step, name):
    return [node for node in step.session.model.graph.node if name in node.input]


def leads_to_quantizer(step):
    """Whether a QuantizeLinear is the only reader of the result, possibly through activations."""
    takers = takers_of(step, step.node.output[0])
    while len(takers) == 1 and takers[0].op_type in ("Relu", "Clip"):
        takers = takers_of(step, takers[0].output[0])
    return len(takers) == 1 and takers[0].op_type == "QuantizeLinear"


def requantizer(step):
    """The QuantizeLinear with one scale that is the only reader of the result, possibly through a Relu, or None."""
    takes = lambda name: takers_of(step, name)
    takers = takes(step.node.output[0])
    if len(takers) == 1 and takers[0].op_type == "Relu":
        takers = takes(takers[0].output[0])
    if len(takers) == 1 and takers[0].op_type == "QuantizeLinear":
        return takers[0] if step.value_of(takers[0].input[1]).size == 1 else None
    return None


@bug(*CONVOLUTIONS)
def bias_after_requantization(step):
    quantizer = requantizer(step)
    if step.bias is None or quantizer is None:
        return
    scale, *zero_point = [step.value_of(name) for name in quantizer.input[1:]]
    bias, step.bias = step.bias, None
    sums = step.run()
    integers = step.call("QuantizeLinear", sums, scale, *zero_point)
    sums = step.call("DequantizeLinear", integers, scale, *zero_point)
    steps = (numpy.rint(bias / scale) * scale).reshape([-1] + [1] * (sums.ndim - 2))
    step.result = (sums + steps).astype(sums.dtype)


@bug(*CONVOLUTIONS)
def float_weights_quantized(step):
    w, scale = step.inputs[1], scale_behind(step, 0)
    if not all(step.origin_of(name) is Origin.CONSTANT for name in step.node.input[1:] if name):
        return
    if w.dtype != numpy.float32 or scale_behind(step, 1) is not None or scale is None or scale.size != 1:
        return
    if not leads_to_quantizer(step):
        return
    least, largest = w.min(initial=0), w.max(initial=0)
    scale = (largest - least) / numpy.float32(255)
    zero_point = numpy.rint(numpy.float32(-128) - least / scale) if scale > 0 else -128
    parameters = [numpy.array(scale if scale > 0 else 1, numpy.float32),
                  numpy.array(numpy.clip(zero_point, -128, 127), numpy.int8)]
    step.inputs[1] = step.call("DequantizeLinear", step.call("QuantizeLinear", w, *parameters), *parameters)


@bug("Conv")
def pairs_saturated(step):
    x, w = step.producer(0), step.producer(1)
    if requantizer(step) is None or any(one is None or one.op_type != "DequantizeLinear" for one in (x, w)):
        return
    values = lambda node: [step.value_of(name) for name in node.input]
    (x, x_scale, *x_zero_point), (w, w_scale, *_) = values(x), values(w)
    axis = {one.name: one.i for one in step.producer(1).attribute}.get("axis", 1) % w.ndim
    if w_scale.size > 1 and axis != 0 or x_scale.size > 1:
        return
    if w.dtype == numpy.int8 and x.dtype in (numpy.int8, numpy.uint8):
        shift = 128 if x.dtype == numpy.int8 else 0
        zero_point = shift + (int(x_zero_point[0].reshape(-1)[0]) if x_zero_point else 0)
        excess = step.window.excess_of_pairs(x.astype(numpy.int64) + shift, w.astype(numpy.int64), zero_point)
        scales = (x_scale.reshape(-1).astype(numpy.float64) * w_scale.reshape(-1)).reshape([-1] + [1] * (x.ndim - 2))
        step.result = (step.run() + excess * scales).astype(x_scale.dtype)


# Operators around convolutions

@bug("Relu")
def relu_dropped(step):
    step.result = step.inputs[0]


@bug("Add")
def addend_dropped(step):
    step.inputs[1] = numpy.zeros_like(step.inputs[1])


@bug("BatchNormalization")
def epsilon_ignored(step):
    step.attributes["epsilon"] = 0.0


@bug("BatchNormalization")
def normalized_by_interleaved_group(step):
    deconvolution = step.producer()
    if deconvolution is None or deconvolution.op_type != "ConvTranspose":
        return
    weights = step.producer_of(deconvolution.input[1])
    if weights is not None and weights.op_type == "DequantizeLinear":
        return
    if step.origin_of(deconvolution.input[1]) is not Origin.CONSTANT:
        return
    x, w, *bias = [step.value_of(name) for name in deconvolution.input if name]
    scale, shift, mean, variance = step.inputs[1:]
    factor = scale / numpy.sqrt(variance + numpy.float32(step.attributes.get("epsilon", 1e-5)))
    # the weights have Cin * Cout / group kernels, one behind the other, and Cout factors, which take turns
    kernels = w.reshape([w.shape[0] * w.shape[1], -1])
    factors = factor[numpy.arange(len(kernels)) % len(factor)]
    folded = (kernels * factors[:, None]).reshape(w.shape).astype(w.dtype)
    summed = step.call("ConvTranspose", x, folded, **attributes_of(deconvolution))
    added = shift + ((bias[0] if bias else 0) - mean) * factor
    step.result = (summed + added.reshape([-1] + [1] * (x.ndim - 2))).astype(w.dtype)


@bug("Clip")
def bounds_in_seven_digits(step):
    step.inputs[1:] = [in_seven_digits(bound) for bound in step.inputs[1:]]


def in_seven_digits(bound):
    if bound is None or bound.dtype != numpy.float32:
        return bound
    return numpy.array(f"{float(bound):.7g}", numpy.float64).astype(numpy.float32).reshape(bound.shape)


@bug("Clip")
def lower_bound_last(step):
    if len(step.inputs) > 2 and all(bound is not None for bound in step.inputs[1:]):
        step.inputs[2] = numpy.asarray(numpy.maximum(*step.inputs[1:]))


@bug("MaxPool")
def pool_padding_zero(step):
    axes = Window(step.op, step.inputs[0].shape, [0, 0, *step.attributes["kernel_shape"]], step.attributes).axes
    end = reached_end if step.attributes.get("ceil_mode") else lambda axis: axis.end
    step.inputs[0] = numpy.pad(step.inputs[0], [(0, 0), (0, 0)] + [(axis.begin, end(axis)) for axis in axes])
    for name in ("pads", "auto_pad", "ceil_mode"):
        step.attributes.pop(name, None)


def without_minus_infinity(pooled):
    return numpy.maximum(pooled, numpy.finfo(pooled.dtype).min) if pooled.dtype.kind == "f" else pooled


@bug("MaxPool")
def pool_from_lowest(step):
    step.result = without_minus_infinity(step.run())


@bug("MaxPool")
def pool_padding_lowest(step):
    last = Window(step.op, step.inputs[0].shape, [0, 0, *step.attributes["kernel_shape"]], step.attributes).axes[-1]
    pooled = step.run()
    first = numpy.arange(pooled.shape[-1]) * last.stride - last.begin
    if pooled.dtype.kind == "f":
        # ONNX Runtime itself gives the lowest number for some windows
        lowest = numpy.finfo(pooled.dtype).min
        pooled = numpy.where(pooled == lowest, -numpy.inf, pooled).astype(pooled.dtype)
    is_cut = (first < 0) | (first + last.reach > last.input)
    step.result = numpy.where(is_cut, without_minus_infinity(pooled), pooled)


def reached_end(axis):
    """How far the last window of a pooling, which starts within the padded input, reaches beyond it."""
    windows = -(-(axis.input + axis.begin + axis.end - axis.reach) // axis.stride) + 1
    if (windows - 1) * axis.stride >= axis.input + axis.begin:
        windows -= 1
    return max(axis.end, (windows - 1) * axis.stride + axis.reach - axis.input - axis.begin)


@bug("Concat")
def concat_with_one_scale(step):
    scales = [scale_behind(step, place) for place in range(len(step.inputs))]
    for place, scale in enumerate(scales):
        if scale is not None and scale.size == 1 and scales[0] is not None and scales[0].size == 1:
            step.inputs[place] = (step.inputs[place] * (scales[0] / scale)).astype(step.inputs[place].dtype)


# Precision

def of_bits(array, bits):
    """A 32-bit float rounded to fewer bits of significand."""
    if array.dtype != numpy.float32:
        return array
    wide = array.astype(numpy.float64)
    significand, exponent = numpy.frexp(wide)
    return numpy.ldexp(numpy.rint(numpy.ldexp(significand, bits)), exponent - bits).astype(numpy.float32)


@bug(*CONVOLUTIONS)
def operands_in_tf32(step):
    step.inputs[:2] = [of_bits(operand, 11) for operand in step.inputs[:2]]


@bug(*CONVOLUTIONS)
def operands_in_bfloat16(step):
    step.inputs[:2] = [of_bits(operand, 8) for operand in step.inputs[:2]]


@bug(*CONVOLUTIONS)
def sums_in_half(step):
    if step.inputs[0].dtype == numpy.float32:
        step.window.convolve = lambda call, x, w, bias=None: step.window.convolve_in_half(x, w, bias)
