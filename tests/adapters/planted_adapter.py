#!/usr/bin/env python3
"""A twinfer worker around ONNX Runtime that computes one node wrong, or none."""
import argparse, pathlib, sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "adapters"))

import numpy, onnx, onnxruntime
from onnx import numpy_helper
from onnxruntime_adapter import serve

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 4


def zeroed_bias(bias):
    bias[...] = 0


def flipped_kernel(weights):
    weights[...] = numpy.flip(weights, range(2, weights.ndim)).copy()


def swapped_channels(weights):
    weights[...] = numpy.roll(weights, 1, 0)


def swapped_inputs(weights):
    weights[...] = numpy.roll(weights, 1, 1)


def changed_weight(weights):
    largest = numpy.unravel_index(numpy.abs(weights.astype("float64")).argmax(), weights.shape)
    weights[largest] = -(weights[largest] / 2)


# what each changes: the input at a place, or the attributes
ERRORS = {"zeroed-bias": (2, zeroed_bias), "flipped-kernel": (1, flipped_kernel), "swapped-channels": (1, swapped_channels),
          "swapped-inputs": (1, swapped_inputs), "changed-weight": (1, changed_weight)}
SHIFTED_PADS = "shifted-pads"


def stored(graph, name):
    """The initializer or the Constant from which a value comes, and the node that reads it: none, or one that dequantizes it."""
    for initializer in graph.initializer:
        if initializer.name == name:
            return initializer, None
    for node in graph.node:
        if name in node.output and node.op_type == "Constant" and node.attribute[0].name == "value":
            return node.attribute[0].t, None
        if name in node.output and node.op_type in ("DequantizeLinear", "Identity"):
            tensor, _ = stored(graph, node.input[0])
            return tensor, node
    return None, None


def shift_pads(model, output):
    """Reads the padded input one element later along the first axis that is padded at its end."""
    for node in model.graph.node:
        for attribute in node.attribute:
            if output in node.output and attribute.name == "pads":
                begins, ends = numpy.split(numpy.array(attribute.ints), 2)
                axis = numpy.flatnonzero(ends)[0]
                begins[axis] += 1
                ends[axis] -= 1
                attribute.ints[:] = [int(pad) for pad in (*begins, *ends)]


def plant(model, error, output):
    """Makes the error in the node that computes `output`, if the model has it."""
    if error == SHIFTED_PADS:
        shift_pads(model, output)
        return
    place, change = ERRORS[error]
    graph = model.graph
    # nodes are inserted on the way
    for node in list(graph.node):
        if output in node.output and len(node.input) > place:
            tensor, between = stored(graph, node.input[place])
            if tensor is None:
                continue
            values = numpy_helper.to_array(tensor).copy()
            change(values)
            graph.initializer.append(numpy_helper.from_array(values, "planted"))
            if between is None:
                node.input[place] = "planted"
            else:
                # another node of the same values stays as it is
                copied = onnx.NodeProto()
                copied.CopyFrom(between)
                copied.name, copied.input[0], copied.output[0] = "planted_reader", "planted", "planted_values"
                node.input[place] = "planted_values"
                graph.node.insert(0, copied)


def session(model, error, output):
    model = onnx.load_from_string(model)
    if error:
        plant(model, error, output)
    return onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--error", choices=[*ERRORS, SHIFTED_PADS], help="what is wrong")
    parser.add_argument("--output", help="the output of the node that is wrong")
    arguments = parser.parse_args()
    serve(lambda model: session(model, arguments.error, arguments.output))
