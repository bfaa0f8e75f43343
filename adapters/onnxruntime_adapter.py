#!/usr/bin/env python3
"""A twinfer worker around the onnxruntime package; docs/protocol.md describes the messages."""
import functools, json, os, struct, sys

import numpy, onnxruntime

NUMPY = {"FLOAT": "float32", "FLOAT16": "float16", "INT8": "int8", "UINT8": "uint8", "INT32": "int32", "INT64": "int64"}
ONNX = {name: dtype for dtype, name in NUMPY.items()}
LIMITS = {"same-with-dilation": {"all": ["auto-pad-same", "dilated", {"operator": "Conv"}]},
          "output-padding-at-least-stride": "output-padding-at-least-stride"}
BACKEND = {"name": "onnxruntime (Python)", "version": onnxruntime.__version__, "reaches": "execute",
           "capabilities": [{"rule": rule, "source": "seen in 1.31.1", "refuses": it} for rule, it in LIMITS.items()]}


def send(pipe, kind, body, parts=()):
    header = json.dumps({"message": {kind: body}, "payload": [len(part) for part in parts]}).encode()
    pipe.writelines([struct.pack("<I", len(header)), header, *parts])
    pipe.flush()


def field(number, body):  # of a protocol buffer, which is what an ONNX model is
    return bytes([number << 3 | 2, *(len(body) >> shift & 127 | 128 for shift in (0, 7, 14)), len(body) >> 21]) + body


def observe(start, model, case, parts, enter):
    seen, returned, inside = {"stage": "parse", "outcome": "ok", "runs": []}, [], case.get("intermediates", [])
    try:
        enter("parse")  # further outputs behind the model are merged with its own
        session = start(model + field(7, b"".join(field(12, field(1, name.encode())) for name in inside)))
        enter("execute")
        seen["stage"] = "execute"
        for run in case["runs"]:
            tensors = [numpy.frombuffer(parts.pop(0), NUMPY[t["dtype"]]).reshape(t["shape"]) for t in run]
            results = session.run(None, dict(zip([i.name for i in session.get_inputs()], tensors)))
            names = [""] * (len(results) - len(inside)) + inside
            told = [{"name": n, "dtype": ONNX[r.dtype.name], "shape": r.shape} for n, r in zip(names, results)]
            seen["runs"].append({"outputs": told[:names.count("")], "intermediates": told[names.count(""):]})
            returned += [result.tobytes() for result in results]
    except Exception as error:
        seen["outcome"] = {"rejected": f"{type(error).__name__}: {error}"}
    return seen, returned


def serve(start=functools.partial(onnxruntime.InferenceSession, providers=["CPUExecutionProvider"])):
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with frames
    while length := stdin.read(4):
        header = json.loads(stdin.read(struct.unpack("<I", length)[0]))
        (kind, body), parts = header["message"].popitem(), [stdin.read(size) for size in header["payload"]]
        if kind == "hello":
            send(stdout, "hello", {"protocol": 1, "backends": [BACKEND] * len(body["variants"])})
        for variant in body["variants"] if kind == "case" else []:
            case = {"hash": body["hash"], "variant": variant}
            enter = lambda stage: send(stdout, "stage", case | {"stage": stage})
            seen, returned = observe(start, parts[0], body, parts[1:], enter)
            send(stdout, "answer", case | {"observation": seen}, returned)


if __name__ == "__main__":
    serve()
