"""Reads what an adapter has to know of an ONNX model, without a package that reads protocol buffers."""

MODEL_GRAPH, GRAPH_INPUT, GRAPH_OUTPUT, VALUE_NAME, VALUE_TYPE = 7, 11, 12, 1, 2
TYPE_TENSOR, TENSOR_ELEMENT = 1, 1
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


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
    """The contents of each field of this number: of one that holds bytes, or the number of a `VARINT`."""
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
    """The descriptions of the graph's inputs or outputs, in their order."""
    for graph in fields(memoryview(model), MODEL_GRAPH):
        yield from fields(graph, which)


def names(described):
    for value in described:
        yield from (bytes(name).decode() for name in fields(value, VALUE_NAME))


def input_names(model):
    """The names of the graph's inputs, in their order."""
    return names(values(model, GRAPH_INPUT))


def output_names(model):
    """The names of the graph's outputs, in their order."""
    return names(values(model, GRAPH_OUTPUT))


def element_type(value):
    """The number of the element type of an input or output, as ONNX counts them; 0 if it has none."""
    for kind in fields(value, VALUE_TYPE):
        for tensor in fields(kind, TYPE_TENSOR):
            for number in fields(tensor, TENSOR_ELEMENT, VARINT):
                return number
    return 0
