"""Reads what an adapter has to know of an ONNX model, without a package that reads protocol buffers."""

MODEL_GRAPH, GRAPH_INPUT, GRAPH_OUTPUT = 7, 11, 12
VALUE_NAME, VALUE_TYPE, TYPE_TENSOR, TENSOR_ELEMENT = 1, 2, 1, 1
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
# ONNX's numbers of the element types of the protocol
ELEMENT_TYPES = {
    1: "FLOAT", 2: "UINT8", 3: "INT8", 6: "INT32", 7: "INT64", 9: "BOOL", 10: "FLOAT16", 11: "DOUBLE", 16: "BFLOAT16",
}


def varint(data, at):
    """The number at a position, and the position behind it."""
    number, shift = 0, 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data, wanted, kind=BYTES):
    """The contents of each field of this number and kind, which is `BYTES` or `VARINT`."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size, number = {FIXED64: 8, FIXED32: 4}.get(key & 7, 0), None
        if key & 7 == VARINT:
            number, at = varint(data, at)
        elif key & 7 == BYTES:
            size, at = varint(data, at)
        if key == wanted << 3 | kind:
            yield number if kind == VARINT else data[at:at + size]
        at += size


def values(model, which):
    """The parts of the model that describe the graph's inputs, or its outputs."""
    for graph in fields(memoryview(model), MODEL_GRAPH):
        yield from fields(graph, which)


def names(described):
    for value in described:
        yield from (bytes(name).decode() for name in fields(value, VALUE_NAME))


def outputs(model):
    """The parts of the model that describe the graph's outputs, in their order."""
    return values(model, GRAPH_OUTPUT)


def input_names(model):
    """The names of the graph's inputs, in their order."""
    return names(values(model, GRAPH_INPUT))


def output_names(model):
    """The names of the graph's outputs, in their order."""
    return names(outputs(model))


def element_type(value):
    """The protocol's name of the element type that an input or output declares; None for other types, and without one."""
    for kind in fields(value, VALUE_TYPE):
        for tensor in fields(kind, TYPE_TENSOR):
            for number in fields(tensor, TENSOR_ELEMENT, VARINT):
                return ELEMENT_TYPES.get(number)
    return None
