"""A worker that knows no operator: whatever the model, it gives back the inputs as they are. With the argument `build` it says
that it only builds, and gives nothing back; with `fickle`, every element of a float input is another random number each time; with
`dying`, every process ends in its third case; with `aborting`, it aborts if an input has fractions; with `scaled FACTOR...`, each float input is multiplied by its factor. With `execute FILE` it refuses every third model, whatever process it runs in: it counts them in the file."""
import itertools, json, os, random, struct, sys

MODE = (sys.argv[1:] or ["execute"])[0]
REACHES = "build" if MODE == "build" else "execute"

CASES = itertools.count(1)

COUNT = (sys.argv[2:] or [None])[0] if MODE == "execute" else None
FACTORS = [float(factor) for factor in sys.argv[2:]] if MODE == "scaled" else []

DESCRIPTION = {"name": "unchanged", "version": "1", "capabilities": [], "reaches": REACHES}


def send(kind, body, parts=()):
    header = json.dumps({"message": {kind: body}, "payload": [len(part) for part in parts]}).encode()
    sys.stdout.buffer.write(b"".join([struct.pack("<I", len(header)), header, *parts]))
    sys.stdout.buffer.flush()


def refuses():
    if not COUNT:
        return False
    with open(COUNT, "a+b") as file:
        file.write(b".")
        return file.tell() % 3 == 0


def scaled(part, factor):
    return b"".join(struct.pack("<f", factor * value) for (value,) in struct.iter_unpack("<f", part))


while length := sys.stdin.buffer.read(4):
    header = json.loads(sys.stdin.buffer.read(struct.unpack("<I", length)[0]))
    kind, body = header["message"].popitem()
    parts = [sys.stdin.buffer.read(size) for size in header["payload"]]
    if MODE == "fickle":
        parts = [b"".join(struct.pack("<f", random.random()) for _ in range(len(part) // 4)) for part in parts]
    if FACTORS and kind != "hello":
        parts[1:] = map(scaled, parts[1:], itertools.cycle(FACTORS))
    if kind == "hello":
        send("hello", {"protocol": 1, "backends": [DESCRIPTION for _ in body["variants"]]})
        continue
    if MODE == "dying" and next(CASES) == 3:
        os._exit(3)
    if MODE == "aborting" and any(value % 1 for part in parts[1:] for (value,) in struct.iter_unpack("<f", part)):
        os.abort()
    for variant in body["variants"]:
        if refuses():
            seen = {"stage": "load", "outcome": {"rejected": "NO: not now"}}
            send("answer", {"hash": body["hash"], "variant": variant, "observation": seen})
            continue
        runs = [{"outputs": run} for run in body["runs"]] if REACHES == "execute" else []
        seen = {"stage": REACHES, "outcome": "ok", "runs": runs}
        send("answer", {"hash": body["hash"], "variant": variant, "observation": seen}, parts[1:] if runs else [])
