"""ONNX models without the onnx package: the messages of the protocol buffer that graphs of arrays need, read and written."""
import dataclasses
import struct

import numpy

TYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64"}
NUMBERS = {numpy.dtype(name): number for number, name in TYPES.items()}


@dataclasses.dataclass
class Node:
    """One node; an empty name in `inputs` is an optional input that is left out."""

    op_type: str
    inputs: list
    outputs: list
    attributes: dict


@dataclasses.dataclass
class Model:
    """A graph whose initializers are arrays. `inputs` are pairs of name and element type."""

    opset: int
    inputs: list
    initializers: dict
    nodes: list
    outputs: list


def parse(data):
    """The model that these bytes hold."""
    message = _fields(data)
    versions = [_fields(imported) for imported in message.get(8, [])]
    opset = max(version[2][0] for version in versions if not version.get(1, [b""])[0])
    graph = _fields(message[7][0])
    initializers = dict(map(_tensor, graph.get(5, [])))
    inputs = [pair for pair in map(_value, graph.get(11, [])) if pair[0] not in initializers]
    nodes = [_node(_fields(node)) for node in graph.get(1, [])]
    outputs = [_value(value)[0] for value in graph.get(12, [])]
    return Model(opset, inputs, initializers, nodes, outputs)


def encode(model, shapes):
    """The bytes of a model whose inputs and outputs have these types and shapes: {name: (type, shape or None)}."""
    graph = [_bytes(1, _encoded_node(node)) for node in model.nodes]
    graph.append(_bytes(2, b"graph"))
    graph += [_bytes(5, _encoded_tensor(array, name)) for name, array in model.initializers.items()]
    graph += [_bytes(11, _encoded_value(name, *shapes[name])) for name, _ in model.inputs]
    graph += [_bytes(12, _encoded_value(name, *shapes[name])) for name in model.outputs]
    version = _number(1, 8 if model.opset < 19 else 10)
    return version + _bytes(7, b"".join(graph)) + _bytes(8, _bytes(1, b"") + _number(2, model.opset))


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(data):
    """Number of field -> its values, in order: integers, or bytes."""
    fields, at = {}, 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = _varint(data, at)
            value, at = data[at:at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _integers(values):
    """Repeated integers, packed or not."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(_signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            numbers.append(_signed(number))
    return numbers


def _text(fields, number):
    return fields.get(number, [b""])[0].decode()


def _value(data):
    fields = _fields(data)
    tensor = _fields(_fields(fields[2][0])[1][0])
    return _text(fields, 1), TYPES.get(tensor[1][0])


def _tensor(data):
    fields = _fields(data)
    dtype = numpy.dtype(TYPES[fields[2][0]])
    if 9 in fields:
        array = numpy.frombuffer(fields[9][0], dtype)
    elif 4 in fields:
        array = numpy.frombuffer(b"".join(fields[4]), "float32")
    else:
        array = numpy.array(_integers(fields.get(5, []) + fields.get(7, [])))
        array = array.astype("uint16").view(dtype) if dtype == "float16" else array.astype(dtype)
    return _text(fields, 8), array.reshape(_integers(fields.get(1, [])))


def _node(fields):
    names = lambda number: [name.decode() for name in fields.get(number, [])]
    return Node(_text(fields, 4), names(1), names(2), dict(_attribute(_fields(a)) for a in fields.get(5, [])))


def _attribute(fields):
    kind = fields.get(20, [0])[0]
    readers = {1: lambda: struct.unpack("<f", fields[2][0])[0], 2: lambda: _signed(fields[3][0]), 3: lambda: _text(fields, 4),
               4: lambda: _tensor(fields[5][0])[1], 7: lambda: _integers(fields.get(8, []))}
    return _text(fields, 1), readers[kind]()


def _encoded_varint(value):
    value &= (1 << 64) - 1
    digits = []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes(digits + [value])


def _number(field, value):
    return _encoded_varint(field << 3) + _encoded_varint(value)


def _bytes(field, body):
    body = body.encode() if isinstance(body, str) else body
    return _encoded_varint(field << 3 | 2) + _encoded_varint(len(body)) + body


def _encoded_tensor(array, name):
    dims = b"".join(_number(1, extent) for extent in array.shape)
    return dims + _number(2, NUMBERS[array.dtype]) + _bytes(8, name) + _bytes(9, numpy.ascontiguousarray(array).tobytes())


def _encoded_value(name, dtype, shape):
    declared = b"" if shape is None else _bytes(2, b"".join(_bytes(1, _number(1, extent)) for extent in shape))
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, NUMBERS[numpy.dtype(dtype)]) + declared))


def _encoded_node(node):
    parts = [_bytes(1, name) for name in node.inputs] + [_bytes(2, name) for name in node.outputs] + [_bytes(4, node.op_type)]
    return b"".join(parts + [_bytes(5, _encoded_attribute(*pair)) for pair in node.attributes.items()])


def _encoded_attribute(name, value):
    if isinstance(value, float):
        kind, body = 1, _encoded_varint(2 << 3 | 5) + struct.pack("<f", value)
    elif isinstance(value, str):
        kind, body = 3, _bytes(4, value)
    elif isinstance(value, list):
        kind, body = 7, b"".join(_number(8, item) for item in value)
    else:
        kind, body = 2, _number(3, value)
    return _bytes(1, name) + body + _number(20, kind)
