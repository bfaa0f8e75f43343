#!/usr/bin/env python3
"""A twinfer worker around the onnxruntime package; docs/protocol.md describes the messages."""
import functools, json, os, struct, sys

import numpy, onnxruntime

NUMPY = {"FLOAT": "float32", "FLOAT16": "float16", "INT8": "int8", "UINT8": "uint8", "INT32": "int32"}
ONNX = {name: dtype for dtype, name in NUMPY.items()}
LIMITS = {"same-with-dilation": {"all": ["auto-pad-same", "dilated", {"operator": "Conv"}]},
          "output-padding-at-least-stride": "output-padding-at-least-stride"}
BACKEND = {"name": "onnxruntime (Python)", "version": onnxruntime.__version__, "reaches": "execute",
           "capabilities": [{"rule": rule, "source": "seen in 1.31.1", "refuses": it} for rule, it in LIMITS.items()]}


def receive(pipe):
    if not (length := pipe.read(4)):
        return None
    header = json.loads(pipe.read(struct.unpack("<I", length)[0]))
    return *header["message"].popitem(), [pipe.read(size) for size in header["payload"]]


def send(pipe, kind, body, parts=()):
    header = json.dumps({"message": {kind: body}, "payload": [len(part) for part in parts]}).encode()
    pipe.write(b"".join([struct.pack("<I", len(header)), header, *parts]))
    pipe.flush()


def observe(start, model, runs, parts, enter):
    seen, outputs = {"stage": "parse", "outcome": "ok", "runs": []}, []
    try:
        enter("parse")
        session = start(model)
        enter("execute")
        seen["stage"] = "execute"
        for run in runs:
            tensors = [numpy.frombuffer(parts.pop(0), NUMPY[t["dtype"]]).reshape(t["shape"]) for t in run]
            results = session.run(None, dict(zip([i.name for i in session.get_inputs()], tensors)))
            seen["runs"].append({"outputs": [{"dtype": ONNX[r.dtype.name], "shape": r.shape} for r in results]})
            outputs += [result.tobytes() for result in results]
    except Exception as error:
        seen["outcome"] = {"rejected": f"{type(error).__name__}: {error}"}
    return seen, outputs


def serve(start=functools.partial(onnxruntime.InferenceSession, providers=["CPUExecutionProvider"])):
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with frames
    while message := receive(stdin):
        kind, body, parts = message
        if kind == "hello":
            send(stdout, "hello", {"protocol": 1, "backends": [BACKEND for _ in body["variants"]]})
        for variant in body["variants"] if kind == "case" else []:
            case = {"hash": body["hash"], "variant": variant}
            enter = lambda stage: send(stdout, "stage", case | {"stage": stage})
            seen, outputs = observe(start, parts[0], body["runs"], parts[1:], enter)
            send(stdout, "answer", case | {"observation": seen}, outputs)


if __name__ == "__main__":
    serve()
