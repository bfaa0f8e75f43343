"""Reads what an adapter has to know of an ONNX model, without a package that reads protocol buffers."""

MODEL_GRAPH, GRAPH_INPUT, VALUE_NAME = 7, 11, 1
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


def fields(data, wanted):
    """The contents of each field of this number that holds bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size = {FIXED64: 8, FIXED32: 4}.get(key & 7, 0)
        if key & 7 == VARINT:
            _, at = varint(data, at)
        elif key & 7 == BYTES:
            size, at = varint(data, at)
        if key == wanted << 3 | BYTES:
            yield data[at:at + size]
        at += size


def input_names(model):
    """The names of the graph's inputs, in their order."""
    for graph in fields(memoryview(model), MODEL_GRAPH):
        for value in fields(graph, GRAPH_INPUT):
            yield from (bytes(name).decode() for name in fields(value, VALUE_NAME))
