"""ONNX's operators as a PyTorch program writes them, with the functions of torch.nn.functional.

Each function takes the tensors of the node in ONNX's order, None for one that is left out, then the node's attributes by name.
Whatever PyTorch cannot express without computing something else beside it is refused, so that no result is of another operator.
"""

import torch
import torch.nn.functional as F

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGES = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
INTEGERS = {torch.int8: (-128, 127), torch.uint8: (0, 255)}
AUTOMATIC = ("SAME_UPPER", "SAME_LOWER")


class Inexpressible(Exception):
    """PyTorch has no function for this. `code` is the first word of the message."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Invalid(Exception):
    """ONNX does not allow this, but PyTorch would never see it."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def check_attributes(pads, auto_pad, kernel_shape, kernel):
    if pads is not None and auto_pad != "NOTSET":
        raise Invalid("pads with auto_pad", f"pads is {pads} and auto_pad is {auto_pad}")
    if kernel_shape is not None and kernel_shape != kernel:
        raise Invalid("kernel_shape", f"kernel_shape is {kernel_shape} and that of the weights is {kernel}")


def of_rank(functions, tensor, operator):
    rank = tensor.dim() - 2
    if rank not in functions:
        raise Inexpressible("spatial-rank", f"torch.nn.functional has no {operator} of {rank} spatial axes")
    return functions[rank]


def extents(tensor):
    """The spatial extents. A trace records them as constants."""
    return [int(extent) for extent in tensor.shape[2:]]


def per_axis(entries, rank, default):
    return list(entries) if entries else [default] * rank


def dilated(kernel, dilations):
    return [(extent - 1) * dilation + 1 for extent, dilation in zip(kernel, dilations)]


def split(total, auto_pad):
    """Parts of a padding before and after an axis; SAME_UPPER has the odd position after it."""
    small, large = total // 2, total - total // 2
    return (small, large) if auto_pad == "SAME_UPPER" else (large, small)


def window_pads(x, kernel, strides, dilations, pads, auto_pad):
    """The padding before and after each axis of what `Conv` or `MaxPool` reads."""
    rank = len(kernel)
    if auto_pad not in AUTOMATIC:
        pads = per_axis(pads, 2 * rank, 0)
        return list(zip(pads[:rank], pads[rank:]))
    totals = []
    for extent, stride, reach in zip(extents(x), strides, dilated(kernel, dilations)):
        outputs = -(-extent // stride)
        totals.append(max((outputs - 1) * stride + reach - extent, 0))
    return [split(total, auto_pad) for total in totals]


def is_symmetric(pads):
    return all(before == after for before, after in pads)


def padded(x, pads, value):
    """`x` with padding of its own: the functions of torch.nn.functional pad both ends alike."""
    return F.pad(x, [end for axis in reversed(pads) for end in axis], value=value)


def conv(x, weight, bias=None, *, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1, kernel_shape=None):
    function = of_rank(CONVOLUTIONS, x, "convolution")
    rank = x.dim() - 2
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    kernel = extents(weight)
    check_attributes(pads, auto_pad, kernel_shape, kernel)
    pads = window_pads(x, kernel, strides, dilations, pads, auto_pad)
    if not is_symmetric(pads):
        x, pads = padded(x, pads, 0.0), [(0, 0)] * rank
    return function(x, weight, bias, strides, [before for before, _ in pads], dilations, group)


def conv_transpose(
    x, weight, bias=None, *, strides=None, dilations=None, pads=None, auto_pad="NOTSET", group=1, kernel_shape=None,
    output_padding=None, output_shape=None,
):
    function = of_rank(TRANSPOSED, x, "transposed convolution")
    rank = x.dim() - 2
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    appended = per_axis(output_padding, rank, 0)
    kernel = extents(weight)
    check_attributes(pads, auto_pad, kernel_shape, kernel)
    if any(more >= max(stride, dilation) for more, stride, dilation in zip(appended, strides, dilations)):
        raise Invalid("output_padding", f"output_padding is {appended} with strides {strides} and dilations {dilations}")
    if output_shape or auto_pad in AUTOMATIC:
        pads = cropped_pads(extents(x), strides, dilated(kernel, dilations), appended, auto_pad, output_shape)
    else:
        pads = per_axis(pads, 2 * rank, 0)
        pads = list(zip(pads[:rank], pads[rank:]))
    padding = [before for before, _ in pads]
    # torch crops both ends alike and appends output_padding: cropping less at the end is the same
    appended = [more + before - after for more, (before, after) in zip(appended, pads)]
    for more, stride, dilation, before in zip(appended, strides, dilations, padding):
        if before < 0 or more < 0 or more >= max(stride, dilation):
            raise Inexpressible(
                "pads", f"torch.nn.functional.conv_transpose crops both ends alike, less at the end by output_padding: {pads}"
            )
    return function(x, weight, bias, strides, padding, appended, group, dilations)


def cropped_pads(inputs, strides, reaches, appended, auto_pad, output_shape):
    """The positions that `output_shape` or `auto_pad` crop at both ends of each axis."""
    pads = []
    for place, (extent, stride, reach, more) in enumerate(zip(inputs, strides, reaches, appended)):
        natural = stride * (extent - 1) + reach + more
        wanted = output_shape[-len(inputs):][place] if output_shape else min(extent * stride, natural)
        before, _ = split(max(natural - wanted, 0), auto_pad)
        pads.append((before, natural - wanted - before))
    return pads


def max_pool(
    x, *, kernel_shape, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, storage_order=0,
):
    function = of_rank(POOLS, x, "max pooling")
    rank = x.dim() - 2
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    pads = window_pads(x, kernel_shape, strides, dilations, pads, auto_pad)
    # torch pads both ends alike, by half of the kernel at most
    if not is_symmetric(pads) or any(2 * before > extent for (before, _), extent in zip(pads, kernel_shape)):
        if ceil_mode:
            raise Inexpressible("pads", "torch.nn.functional.max_pool with ceil_mode pads both ends alike, by half of the kernel at most")
        x, pads = padded(x, pads, -float("inf")), [(0, 0)] * rank
    return function(x, kernel_shape, strides, [before for before, _ in pads], dilations, bool(ceil_mode))


def average_pool(
    x, *, kernel_shape, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0,
):
    function = of_rank(AVERAGES, x, "average pooling")
    rank = x.dim() - 2
    strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
    pads = window_pads(x, kernel_shape, strides, dilations, pads, auto_pad)
    is_wide = any(2 * before > extent for (before, _), extent in zip(pads, kernel_shape))
    if any(dilation != 1 for dilation in dilations) or not is_symmetric(pads) or is_wide:
        raise Inexpressible("pads", "torch.nn.functional.avg_pool has no dilations and pads both ends alike, by half of the kernel at most")
    if ceil_mode and any(before for before, _ in pads):
        raise Inexpressible("pads", "torch.nn.functional.avg_pool with ceil_mode pads both ends alike and counts what is beyond them")
    return function(x, kernel_shape, strides, [before for before, _ in pads], bool(ceil_mode), bool(count_include_pad))


def global_average_pool(x):
    return x.mean(list(range(2, x.dim())), keepdim=True)


def leaky_relu(x, *, alpha=0.01):
    return F.leaky_relu(x, alpha)


def clip(x, low=None, high=None):
    return x.clone() if low is None and high is None else torch.clamp(x, low, high)


def transpose(x, *, perm=None):
    return x.permute(perm if perm else list(reversed(range(x.dim()))))


def batch_normalization(x, scale, bias, mean, variance, *, epsilon=1e-5, momentum=0.9, spatial=1, training_mode=0):
    return F.batch_norm(x, mean, variance, scale, bias, False, 1 - momentum, epsilon)


def concat(*tensors, axis=1):
    return torch.cat(tensors, axis)


def identity(x):
    return x.clone()


def from_front(axis, x):
    """The axis of `x`, counted from the first one."""
    if not -x.dim() <= axis < x.dim():
        raise Invalid("axis", f"axis is {axis} for {x.dim()} axes")
    return axis % x.dim()


def along(parameter, x, axis):
    """A scale or a zero point in a shape that broadcasts along an axis of `x`."""
    if parameter.numel() == 1:
        return parameter.reshape(())
    shape = [1] * x.dim()
    shape[from_front(axis, x)] = -1
    return parameter.reshape(shape)


def quantize(x, scale, zero_point=None, *, dtype, axis=1):
    """QuantizeLinear whose integers something other than DequantizeLinear reads: plain arithmetic."""
    levels = torch.round(x / along(scale, x, axis))
    if zero_point is not None:
        levels = levels + along(zero_point, x, axis)
    return torch.clamp(levels, *INTEGERS[dtype]).to(dtype)


def dequantize(x, scale, zero_point=None, *, axis=1):
    """DequantizeLinear of integers that do not come from QuantizeLinear: plain arithmetic."""
    levels = x.to(torch.int32)
    if zero_point is not None:
        levels = levels - along(zero_point, x, axis).to(torch.int32)
    return levels.to(scale.dtype) * along(scale, x, axis)


def fake_quantize_per_tensor(x, *, scale, zero_point, dtype):
    return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, *INTEGERS[dtype])


def fake_quantize_per_channel(x, scale, zero_point, *, dtype, axis):
    return torch.fake_quantize_per_channel_affine(x, scale, zero_point, from_front(axis, x), *INTEGERS[dtype])
