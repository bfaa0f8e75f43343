"""Conditions on the facts of a node under which a bug applies, in the words of ONNX."""
import dataclasses

import numpy


@dataclasses.dataclass(frozen=True)
class Condition:
    """One condition: its words, and whether it holds for resolved facts."""

    words: str
    holds: object


def _conditions(pairs):
    return [Condition(words, holds) for words, holds in pairs.items()]


WINDOW = {
    "some stride > 1": lambda facts: max(facts.strides) > 1,
    "all strides = 1": lambda facts: max(facts.strides) == 1,
    "strides differ between axes": lambda facts: len(set(facts.strides)) > 1,
    "some pad > 0": lambda facts: any(pad > 0 for pad in [*facts.begins, *facts.ends]),
    "begin and end pads differ": lambda facts: list(facts.begins) != list(facts.ends),
    "no pads": lambda facts: not any([*facts.begins, *facts.ends]),
    "kernel extents differ between axes": lambda facts: len(set(facts.kernel)) > 1,
    "some kernel extent is even": lambda facts: any(extent % 2 == 0 for extent in facts.kernel),
    "some kernel extent > 2": lambda facts: max(facts.kernel) > 2,
    "stride > kernel on some axis": lambda facts: any(s > k for s, k in zip(facts.strides, facts.kernel)),
    "the last spatial extent is odd": lambda facts: facts.extents[-1] % 2 == 1,
    "the last spatial extent is even": lambda facts: facts.extents[-1] % 2 == 0,
    "all spatial extents are odd": lambda facts: all(extent % 2 for extent in facts.extents),
    "spatial extents differ": lambda facts: len(set(facts.extents)) > 1,
    "the last output extent > 4": lambda facts: facts.output[-1] > 4,
    "1 spatial axis": lambda facts: facts.rank == 1,
    "2 spatial axes": lambda facts: facts.rank == 2,
    "3 spatial axes": lambda facts: facts.rank == 3,
    "batch > 1": lambda facts: facts.data.shape[0] > 1,
    "batch = 1": lambda facts: facts.data.shape[0] == 1,
}

CONVOLUTION = {
    **WINDOW,
    "group > 1": lambda facts: facts.group > 1,
    "group = 1": lambda facts: facts.group == 1,
    "group = input channels > 1": lambda facts: facts.group == facts.data.shape[1] > 1,
    "input channels of a group > 1": lambda facts: facts.group_inputs > 1,
    "output channels of a group > 1": lambda facts: facts.group_outputs > 1,
    "input channels differ from output channels": lambda facts: facts.data.shape[1] != facts.outputs,
    "more output channels than input channels": lambda facts: facts.outputs > facts.data.shape[1],
    "input channels are odd": lambda facts: facts.data.shape[1] % 2 == 1,
    "output channels are odd": lambda facts: facts.outputs % 2 == 1,
    "input channels of a group are a multiple of 4": lambda facts: facts.group_inputs % 4 == 0,
    "input channels of a group are not a multiple of 4": lambda facts: facts.group_inputs % 4 != 0,
    "output channels > 8": lambda facts: facts.outputs > 8,
    "some dilation > 1": lambda facts: max(facts.dilations) > 1,
    "strides = dilations": lambda facts: facts.strides == facts.dilations,
    "strides differ from dilations": lambda facts: facts.strides != facts.dilations,
    "all kernel extents are 1": lambda facts: max(facts.kernel) == 1,
    "kernel as large as the data on some axis": lambda facts: any(k >= e for k, e in zip(facts.kernel, facts.extents)),
    "auto_pad is SAME_UPPER or SAME_LOWER": lambda facts: facts.auto_pad.startswith("SAME"),
    "there is a bias": lambda facts: facts.has_bias,
    "there is no bias": lambda facts: not facts.has_bias,
    "weights from DequantizeLinear": lambda facts: facts.context.producers[1] == "DequantizeLinear",
    "weights are an initializer": lambda facts: facts.context.producers[1] == "initializer",
    "data from DequantizeLinear": lambda facts: facts.context.producers[0] == "DequantizeLinear",
    "data and weights from DequantizeLinear": lambda facts: facts.context.producers[:2] == ["DequantizeLinear"] * 2,
    "the result is read by Relu": lambda facts: "Relu" in facts.context.readers,
    "the result is read by QuantizeLinear": lambda facts: "QuantizeLinear" in facts.context.readers,
    "element type FLOAT16": lambda facts: facts.data.dtype == "float16",
    "element type FLOAT": lambda facts: facts.data.dtype == "float32",
    "kernel_shape is not written": lambda facts: "kernel_shape" not in facts.node.attributes,
}

TRANSPOSED = {
    **CONVOLUTION,
    "some output_padding > 0": lambda facts: any(facts.output_padding),
    "no output_padding > 0": lambda facts: not any(facts.output_padding),
    "output_shape is written": lambda facts: facts.output_shape is not None,
    "kernel > stride on all axes": lambda facts: all(k > s for k, s in zip(facts.kernel, facts.strides)),
    "kernel is no multiple of the stride on some axis": lambda facts: any(k % s for k, s in zip(facts.kernel, facts.strides)),
}

QUANTIZER = {
    "zero point ≠ 0": lambda facts: bool(numpy.any(facts.zero_point != 0)),
    "zero point = 0": lambda facts: not numpy.any(facts.zero_point != 0),
    "no zero point": lambda facts: not facts.has_zero_point,
    "UINT8": lambda facts: facts.integer == "uint8",
    "INT8": lambda facts: facts.integer == "int8",
    "one scale per index of an axis": lambda facts: facts.per_axis,
    "one scale for all": lambda facts: not facts.per_axis,
    "axis = 0": lambda facts: facts.per_axis and facts.axis == 0,
    "axis is not written": lambda facts: facts.per_axis and "axis" not in facts.node.attributes,
    "axis is negative": lambda facts: facts.node.attributes.get("axis", 1) < 0,
    "the values are an initializer": lambda facts: facts.context.producers[0] == "initializer",
    "the values are no initializer": lambda facts: facts.context.producers[0] != "initializer",
    "the values are a graph input": lambda facts: facts.context.producers[0] == "input",
    "the scale has the shape [1]": lambda facts: facts.inputs[1].shape == (1,),
    "the scale is a scalar": lambda facts: facts.inputs[1].shape == (),
    "some scale < 1/16": lambda facts: bool((facts.scale < 1 / 16).any()),
    "FLOAT16 scales": lambda facts: facts.scale_type == "float16",
    "1 spatial axis": lambda facts: facts.rank == 3,
    "2 spatial axes": lambda facts: facts.rank == 4,
    "3 spatial axes": lambda facts: facts.rank == 5,
    "batch > 1": lambda facts: facts.rank > 1 and facts.values.shape[0] > 1,
    "channels are odd": lambda facts: facts.rank > 1 and facts.values.shape[1] % 2 == 1,
    "the last extent is odd": lambda facts: facts.rank > 0 and facts.values.shape[-1] % 2 == 1,
    "operator set below 13": lambda facts: facts.context.opset < 13,
}

QUANTIZE = {
    **QUANTIZER,
    "the result is read by DequantizeLinear": lambda facts: "DequantizeLinear" in facts.context.readers,
    "the result is an output of the graph": lambda facts: "output" in facts.context.readers,
    "the values come from Conv": lambda facts: facts.context.producers[0] == "Conv",
    "the values come from Relu": lambda facts: facts.context.producers[0] == "Relu",
}

DEQUANTIZE = {
    **QUANTIZER,
    "INT32": lambda facts: facts.integer == "int32",
    "8-bit integers": lambda facts: facts.integer != "int32",
    "the result is read by Conv": lambda facts: "Conv" in facts.context.readers,
    "the result is read by ConvTranspose": lambda facts: "ConvTranspose" in facts.context.readers,
    "the values come from QuantizeLinear": lambda facts: facts.context.producers[0] == "QuantizeLinear",
}

VALUES = {
    "channels are odd": lambda facts: facts.inputs[0].ndim > 1 and facts.inputs[0].shape[1] % 2 == 1,
    "channels > 3": lambda facts: facts.inputs[0].ndim > 1 and facts.inputs[0].shape[1] > 3,
    "batch > 1": lambda facts: facts.inputs[0].ndim > 1 and facts.inputs[0].shape[0] > 1,
    "1 spatial axis": lambda facts: facts.inputs[0].ndim == 3,
    "2 spatial axes": lambda facts: facts.inputs[0].ndim == 4,
    "3 spatial axes": lambda facts: facts.inputs[0].ndim == 5,
    "the last extent is odd": lambda facts: facts.inputs[0].ndim > 0 and facts.inputs[0].shape[-1] % 2 == 1,
    "element type FLOAT": lambda facts: facts.inputs[0].dtype == "float32",
    "element type FLOAT16": lambda facts: facts.inputs[0].dtype == "float16",
    "the values come from Conv": lambda facts: "Conv" in facts.context.producers,
    "the values come from ConvTranspose": lambda facts: "ConvTranspose" in facts.context.producers,
    "the result is read by QuantizeLinear": lambda facts: "QuantizeLinear" in facts.context.readers,
    "the result is an output of the graph": lambda facts: "output" in facts.context.readers,
}

ADD = {
    **VALUES,
    "operands of equal shape": lambda facts: facts.inputs[0].shape == facts.inputs[1].shape,
    "an operand is broadcast": lambda facts: facts.inputs[0].shape != facts.inputs[1].shape,
    "an operand is an initializer": lambda facts: "initializer" in facts.context.producers,
    "the first operand is broadcast": lambda facts: facts.inputs[0].size < facts.inputs[1].size,
}

POOL = {
    **WINDOW,
    "ceil_mode is 1": lambda facts: facts.ceil_mode == 1,
    "kernel > stride": lambda facts: any(k > s for k, s in zip(facts.kernel, facts.strides)),
}

CONCAT = {
    **VALUES,
    "3 inputs": lambda facts: len(facts.inputs) == 3,
    "2 inputs": lambda facts: len(facts.inputs) == 2,
    "inputs of equal shape": lambda facts: len({values.shape for values in facts.inputs}) == 1,
    "inputs of different shapes": lambda facts: len({values.shape for values in facts.inputs}) > 1,
    "axis is negative": lambda facts: facts.node.attributes["axis"] < 0,
}

NORMALIZATION = {
    **VALUES,
    "epsilon is written": lambda facts: "epsilon" in facts.node.attributes,
    "epsilon is not written": lambda facts: "epsilon" not in facts.node.attributes,
    "momentum is written": lambda facts: "momentum" in facts.node.attributes,
    "some mean is not 0": lambda facts: bool(numpy.any(facts.mean != 0)),
    "some scale is negative": lambda facts: bool(numpy.any(facts.scale < 0)),
    "some variance < 1": lambda facts: bool(numpy.any(facts.variance < 1)),
}

CONDITIONS = {operator: _conditions(table) for operator, table in {
    "Conv": CONVOLUTION, "ConvTranspose": TRANSPOSED, "QuantizeLinear": QUANTIZE, "DequantizeLinear": DEQUANTIZE, "Relu": VALUES,
    "Add": ADD, "MaxPool": POOL, "Concat": CONCAT, "BatchNormalization": NORMALIZATION}.items()}


@dataclasses.dataclass(frozen=True)
class Trigger:
    """A conjunction of conditions; without any it always holds."""

    conditions: tuple

    def holds(self, facts):
        """Whether all conditions hold."""
        return all(condition.holds(facts) for condition in self.conditions)

    def unmet(self, facts):
        """How many conditions do not hold: 0 where the trigger holds, 1 where it is just missed."""
        return sum(not condition.holds(facts) for condition in self.conditions)

    def __str__(self):
        return " and ".join(condition.words for condition in self.conditions) or "always"
