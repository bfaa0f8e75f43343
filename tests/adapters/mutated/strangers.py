"""Bugs for which golden has no mutant, one function each: a diagnosis must leave them unexplained."""
import numpy

from .bugs import CONVOLUTIONS

STRANGERS = {}


def stranger(*operators):
    """A bug of these operators, by the function's name."""
    def register(change):
        STRANGERS[change.__name__.replace("_", "-")] = lambda step: change(step) if step.op in operators else None
        return change
    return register


@stranger(*CONVOLUTIONS)
def one_percent_more(step):
    step.result = (step.run() * 1.01).astype(step.inputs[0].dtype)


@stranger(*CONVOLUTIONS, "Tanh")
def negated(step):
    step.result = -step.run()


@stranger(*CONVOLUTIONS)
def not_a_number(step):
    step.result = numpy.full_like(step.run(), numpy.nan)


@stranger(*CONVOLUTIONS)
def kernel_transposed(step):
    w = step.inputs[1]
    if w.ndim > 3 and w.shape[-1] == w.shape[-2]:
        step.inputs[1] = numpy.ascontiguousarray(w.swapaxes(-1, -2))


@stranger(*CONVOLUTIONS)
def last_tap_dropped(step):
    step.inputs[1] = step.inputs[1].copy()
    step.inputs[1][(..., *[-1] * (step.inputs[1].ndim - 2))] = 0


@stranger(*CONVOLUTIONS)
def first_input_channel_dropped(step):
    step.inputs[0] = step.inputs[0].copy()
    step.inputs[0][:, 0] = 0


@stranger(*CONVOLUTIONS)
def output_channels_rolled(step):
    step.result = numpy.roll(step.run(), 1, 1)


@stranger(*CONVOLUTIONS)
def last_position_zero(step):
    step.result = step.run().copy()
    step.result[..., -1:] = 0


@stranger(*CONVOLUTIONS)
def one_element_doubled(step):
    step.result = step.run().copy()
    step.result.reshape(-1)[:1] *= 2


@stranger(*CONVOLUTIONS)
def bias_doubled(step):
    if step.bias is not None:
        step.bias = step.bias + step.bias


@stranger(*CONVOLUTIONS)
def bias_rolled(step):
    if step.bias is not None:
        step.bias = numpy.roll(step.bias, 1)


@stranger(*CONVOLUTIONS)
def stride_long(step):
    for axis in step.window.axes:
        axis.stride += 1


@stranger("Conv")
def edges_replicated(step):
    for place, axis in enumerate(step.window.axes):
        x, length = step.inputs[0], axis.input + axis.begin + axis.end
        positions = numpy.clip(numpy.arange(-axis.begin, length - axis.begin), 0, axis.input - 1)
        step.inputs[0] = numpy.take(x, positions, place + 2)
        axis.begin = axis.end = 0


@stranger("QuantizeLinear", "DequantizeLinear")
def scale_of_the_neighbor(step):
    if step.inputs[1].size > 1:
        step.inputs[1] = numpy.roll(step.inputs[1], 1)


@stranger("DequantizeLinear")
def dequantized_one_step_up(step):
    step.result = (step.run() + numpy.resize(step.inputs[1], 1)).astype(step.inputs[1].dtype)


@stranger("QuantizeLinear")
def least_bit_dropped(step):
    step.result = step.run() & ~numpy.ones(1, step.run().dtype)
