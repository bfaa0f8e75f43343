"""Serves twinfer's worker protocol around a runtime. docs/protocol.md describes the messages.

An adapter is run as `python3 -I ADAPTER.py PACKAGES` and calls `serve` with a function that imports its runtime and returns its
`Backend`. Nothing but the Python version's standard library may be imported before that: PACKAGES is not on the path yet.
"""

import json
import os
import re
import struct
import sys
import traceback

PROTOCOL = 1
MAX_HEADER = 4 << 20
MAX_PARTS = 16384
MAX_PAYLOAD = 1 << 30
# bounds what an error may add to an answer's header
MAX_MESSAGE = 16 << 10
# what the code of an error must not have, and its length: the protocol takes anything else for no code
NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
MAX_CODE = 40
# the protocol's names of numpy's types: an output may have another type than the adapter expects
NUMPY_TYPES = {name: name.upper() for name in ("float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool")}
NUMPY_TYPES |= {"float32": "FLOAT", "float64": "DOUBLE"}
# the memory that an adapter may fill before a run
FILLABLE = ("outputs", "scratch")
FLOATS = ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE")
# what a mistake in Python code raises, and native code hardly ever
MISTAKES = (NameError, AttributeError, KeyError)


class Fault(Exception):
    """The worker cannot continue; `cause` is "environment" or "variant"."""

    def __init__(self, message, cause="environment"):
        super().__init__(message)
        self.cause = cause


def plain(code):
    """The code of an error in the characters and the length that the protocol allows."""
    return NOT_PLAIN.sub(" ", code).strip()[:MAX_CODE].strip() or "error"


def mistake(error):
    """The place in the adapter's own code that raised the error, if that looks like a mistake there; None otherwise."""
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    folder, file = os.path.split(os.path.abspath(innermost.filename))
    is_own = folder == os.path.dirname(os.path.abspath(__file__)) and isinstance(error, MISTAKES)
    return f"{file}, line {innermost.lineno}" if is_own else None


class Refused(Exception):
    """The backend says no to a model. `code` distinguishes reasons."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Backend:
    """A runtime. `parse`, `build` and `run` raise what they like; `refusal` turns it into a code and a message."""

    name = None
    version = None
    capabilities = []
    limitations = []
    arithmetic = {}
    quantization = "unstated"
    # "alone" if only one worker at a time may be busy with a device
    device_use = None
    # the values that each option takes, the default first; `open_backend` of `serve` is called with the chosen ones by name
    options = {}
    # names of the element types that the adapter converts, with numpy's names; a case with inputs of another type is refused, which a
    # rule of `capabilities` should state
    types = {}
    # "outputs" if `run` hands the runtime buffers of `filled`, "scratch" if it fills memory for inner values with `fill.scratch`
    fills = []
    # what the case has the adapter fill, set before `parse`
    fill = None

    def parse(self, model):
        """Reads the bytes of an ONNX model."""
        raise NotImplementedError

    def build(self, parsed, runs):
        """Makes what `parse` returned ready to run; a backend without such a stage leaves this out.

        `runs` lists, for each run, the descriptions of its inputs: dictionaries with `dtype` and `shape`.
        """
        return None

    def precision(self, built):
        """How the layers of what `build` returned run, as the member `precision` of an observation; None if unknown."""
        return None

    def run(self, built, inputs, names):
        """The outputs in the graph's order, and a dictionary with those of the inner values `names` that are known."""
        raise NotImplementedError

    def refusal(self, error):
        """The code and the message of an error of this runtime."""
        return getattr(error, "code", type(error).__name__), str(error)

    def filled(self, dtype, size):
        """What a buffer of `size` bytes for an output of this type, in the protocol's words, is to hold before a run."""
        return self.fill.output(dtype, size)

    # conversions of elements, for types that numpy does not have

    def from_bytes(self, part, dtype, shape):
        if dtype not in self.types:
            raise Refused("element type", f"the adapter of {self.name} has no {dtype}")
        import numpy

        return numpy.frombuffer(part, self.types[dtype]).reshape(shape)

    def described(self, tensor):
        """The protocol's name of the element type, the shape and the bytes of an output."""
        names = NUMPY_TYPES | {name: dtype for dtype, name in self.types.items()}
        name = tensor.dtype.name
        if name not in names:
            raise Refused("element type", f"an output is {name}, which the protocol does not have")
        return names[name], list(tensor.shape), tensor.tobytes()

    def description(self):
        stated = {"device_use": self.device_use} if self.device_use else {}
        return stated | {
            "name": self.name, "version": self.version, "reaches": "execute", "capabilities": self.capabilities,
            "limitations": self.limitations, "quantization": self.quantization, "arithmetic": self.arithmetic,
        }


class Fill:
    """The bytes that memory is to hold before each run of a case, by which elements that were never written show."""

    def __init__(self, body):
        asked = body.get("fill") or {}
        outputs = asked.get("outputs") or {"floats": 0, "integers": 0}
        self.floats, self.integers = outputs["floats"], outputs["integers"]
        # two bytes that are repeated; None if memory for inner values is left as it is
        self.scratch = bytes(asked["scratch"]) if asked.get("scratch") else None

    def output(self, dtype, size):
        if dtype == "BOOL":
            return bytes(size)
        return bytes([self.floats if dtype in FLOATS else self.integers]) * size


class Pipe:
    """Frames on stdin and stdout."""

    def __init__(self):
        self.stdin, self.stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # output of libraries must not mix with frames

    def exactly(self, size):
        data = self.stdin.read(size)
        if len(data) != size:
            raise EOFError("the pipe ends inside a frame")
        return data

    def receive(self):
        """The kind and the body of the next message, and the parts of its payload; None at the end."""
        length = self.stdin.read(4)
        if not length:
            return None
        (size,) = struct.unpack("<I", length)
        if size > MAX_HEADER:
            raise ValueError("the header is too large")
        header = json.loads(self.exactly(size))
        sizes = header.get("payload", [])
        if len(sizes) > MAX_PARTS or sum(sizes) > MAX_PAYLOAD:
            raise ValueError("the payload is too large")
        ((kind, body),) = header["message"].items()
        return kind, body, [self.exactly(size) for size in sizes]

    def send(self, kind, body, parts=()):
        header = json.dumps({"message": {kind: body}, "payload": [len(part) for part in parts]}).encode()
        self.stdout.writelines([struct.pack("<I", len(header)), header, *parts])
        self.stdout.flush()


class Case:
    """What one variant does with one case."""

    def __init__(self, backend, body, parts, enter):
        self.backend, self.body, self.parts, self.enter = backend, body, parts, enter
        backend.fill = Fill(body)
        self.seen, self.returned = {"stage": "parse", "outcome": "ok", "runs": []}, []

    def observe(self):
        """The observation and the bytes of the outputs."""
        try:
            self.go()
        except Exception as error:
            place = mistake(error)
            code, message = ("the adapter", f"{place}: {error!r}") if place else self.backend.refusal(error)
            outcome = "rejected" if self.seen["stage"] == "parse" or isinstance(error, Refused) else "failed"
            self.seen["outcome"] = {outcome: f"{plain(code)}: {message}"[:MAX_MESSAGE]}
        return self.seen, self.returned

    def at(self, stage):
        self.enter(stage)
        self.seen["stage"] = stage

    def go(self):
        until = self.body.get("until") or "execute"
        self.at("parse")
        built = self.backend.parse(self.parts[0])
        if until == "parse":
            return
        if type(self.backend).build is not Backend.build:
            self.at("build")
            built = self.backend.build(built, self.body["runs"])
            precision = self.backend.precision(built)
            self.seen |= {"precision": precision} if precision else {}
        if until == "build":
            return
        self.at("execute")
        remaining = iter(self.parts[1:])
        names = self.body.get("intermediates") or []
        for run in self.body["runs"]:
            inputs = [self.backend.from_bytes(next(remaining), each["dtype"], each["shape"]) for each in run]
            self.keep(*self.backend.run(built, inputs, names))

    def keep(self, outputs, inside):
        parts, described = [], []
        for name, tensor in [*((None, output) for output in outputs), *inside.items()]:
            dtype, shape, data = self.backend.described(tensor)
            described.append({"dtype": dtype, "shape": shape} if name is None else {"name": name, "dtype": dtype, "shape": shape})
            parts.append(data)
        count = len(outputs)
        self.seen["runs"].append({"outputs": described[:count], "intermediates": described[count:]})
        self.returned += parts


def chosen_options(variant, known):
    """The value of each option of a variant, and of `version`: the release that twinfer names when it has several to choose from."""
    label, *options = variant.split(",")
    chosen = {key: values[0] for key, values in known.items()} | {"version": None}
    for option in options:
        key, _, value = option.partition("=")
        if key not in chosen:
            takes = " and ".join([*known, "version"])
            raise Fault(f"unknown option {key!r} of {label}: it takes {takes} alone", "variant")
        if key in known and value not in known[key]:
            raise Fault(f"{key}={value} is unknown to {label}: use one of {', '.join(known[key])}", "variant")
        chosen[key] = value
    return chosen


def opened(open_backend, label, variant):
    """The backend of a variant, once its packages can be imported."""
    if len(sys.argv) < 2:
        raise Fault(f"name the folder of the packages that {label} imports: python3 -I {sys.argv[0]} PACKAGES")
    # absolute, because an adapter may change its folder
    sys.path.insert(0, os.path.abspath(sys.argv[1]))
    # workers are processes: a runtime that also starts threads for each core makes all of them slower
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    chosen = chosen_options(variant, open_backend.options)
    wanted = chosen.pop("version")
    try:
        backend = open_backend(**chosen)
    except (ImportError, OSError) as error:
        python = "%d.%d" % sys.version_info[:2]
        raise Fault(f"cannot import {label} from {sys.argv[1]} with Python {python}: run `twinfer backends install {label}` ({error})")
    if wanted and not (backend.version + ".").startswith(wanted + "."):
        raise Fault(f"version {wanted} is not installed: this is {backend.version}", "variant")
    return backend


def serve(label, open_backend):
    """Serves cases until stdin is closed."""
    pipe, backends = Pipe(), []
    while frame := pipe.receive():
        kind, body, parts = frame
        if kind == "hello":
            try:
                backends = [opened(open_backend, label, variant) for variant in body["variants"]]
            except Fault as fault:
                return pipe.send("fault", {"message": str(fault), "cause": fault.cause})
            fills = [each for each in FILLABLE if all(each in backend.fills for backend in backends)]
            descriptions = [backend.description() for backend in backends]
            pipe.send("hello", {"protocol": PROTOCOL, "backends": descriptions, "fills": fills})
        for variant in body["variants"] if kind == "case" else []:
            case = {"hash": body["hash"], "variant": variant}
            enter = lambda stage: pipe.send("stage", case | {"stage": stage})
            seen, returned = Case(backends[variant], body, parts, enter).observe()
            pipe.send("answer", case | {"observation": seen}, returned)
