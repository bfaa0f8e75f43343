"""The worker protocol of docs/protocol.md, served by an evaluation in numpy."""
import json
import os
import struct
import sys

import numpy

import model as models
from operators import Evaluation

NUMPY = {"FLOAT": "float32", "FLOAT16": "float16", "DOUBLE": "float64", "INT8": "int8", "UINT8": "uint8", "INT32": "int32",
         "INT64": "int64", "BOOL": "bool"}
ONNX = {name: dtype for dtype, name in NUMPY.items()}


def send(pipe, kind, body, parts=()):
    """Writes one frame."""
    header = json.dumps({"message": {kind: body}, "payload": [len(part) for part in parts]}).encode()
    pipe.write(b"".join([struct.pack("<I", len(header)), header, *parts]))
    pipe.flush()


def receive(pipe):
    """Reads one frame: kind, body and the payload's parts; None at the end."""
    length = pipe.read(4)
    if not length:
        return None
    header = json.loads(pipe.read(struct.unpack("<I", length)[0]))
    (kind, body), = header["message"].items()
    return kind, body, [pipe.read(size) for size in header.get("payload", [])]


def described(tensor):
    """How the header describes a tensor."""
    return {"dtype": ONNX[tensor.dtype.name], "shape": list(tensor.shape)}


def observe(bug, body, parts, enter, tally):
    """Runs one case: the observation and the bytes of its outputs and intermediate values."""
    observation, returned, inside = {"stage": "parse", "outcome": "ok", "runs": []}, [], body.get("intermediates") or []
    try:
        enter("parse")
        evaluation = Evaluation(models.parse(parts[0]), bug)
        enter("execute")
        observation["stage"] = "execute"
        remaining = iter(parts[1:])
        for run in body["runs"]:
            inputs = [numpy.frombuffer(next(remaining), NUMPY[tensor["dtype"]]).reshape(tensor["shape"]) for tensor in run]
            values = evaluation.run(inputs)
            known = [name for name in inside if name in values]
            observation["runs"].append({
                "outputs": [described(values[name]) for name in evaluation.model.outputs],
                "intermediates": [{"name": name} | described(values[name]) for name in known]})
            returned += [values[name].tobytes() for name in [*evaluation.model.outputs, *known]]
            if tally:
                tally.add(evaluation, inputs, values)
    except (ValueError, IndexError, KeyError) as error:
        observation["outcome"] = {"failed": f"{type(error).__name__}: {error}"}
    return observation, returned


def serve(name, bug, tally=None):
    """Serves cases until stdin is closed. `tally` is shown each run, if there is one."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    backend = {"name": name, "version": numpy.__version__, "reaches": "execute", "capabilities": []}
    while frame := receive(stdin):
        kind, body, parts = frame
        if kind == "hello":
            send(stdout, "hello", {"protocol": 1, "backends": [backend] * len(body["variants"])})
        for variant in body["variants"] if kind == "case" else []:
            case = {"hash": body["hash"], "variant": variant}
            enter = lambda stage: send(stdout, "stage", case | {"stage": stage})
            observation, returned = observe(bug, body, parts, enter, tally)
            send(stdout, "answer", case | {"observation": observation}, returned)
