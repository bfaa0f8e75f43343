"""A worker that does to its machine what its argument says, in the first case of every process."""
import json, os, signal, struct, sys, tempfile, time

DESCRIPTION = {"name": "hostile", "version": "1", "capabilities": [], "reaches": "execute"}
FLOAT_BYTES = 4


def send(kind, body, parts=()):
    header = json.dumps({"message": {kind: body}, "payload": [len(part) for part in parts]}).encode()
    sys.stdout.buffer.write(b"".join([struct.pack("<I", len(header)), header, *parts]))
    sys.stdout.buffer.flush()


def hang():
    while True:
        time.sleep(600)


def leave_daemon():
    """Starts a process in a session of its own whose parent ends, and waits for neither."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open(os.environ["DAEMON_STARTED"], "w").close()
            hang()
        os._exit(0)


def survive():
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    leave_daemon()
    hang()


def use_memory():
    held = b"x" * (600 << 20)
    hang()
    return held


def start_processes():
    for _ in range(40):
        if os.fork() == 0:
            hang()
    hang()


def write_files():
    for _ in range(20):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(b"x" * (4 << 20))
    hang()


def answer_at_length(body):
    count = 16 << 20
    output = {"dtype": "FLOAT", "shape": [count]}
    seen = {"stage": "execute", "outcome": "ok", "runs": [{"outputs": [output]}]}
    send("answer", {"hash": body["hash"], "variant": 0, "observation": seen}, [bytes(count * FLOAT_BYTES)])


HOSTILITIES = {"survive": survive, "memory": use_memory, "processes": start_processes, "disk": write_files, "hang": hang}

if sys.argv[1] == "memory-at-start":
    held = b"x" * (150 << 20)
if sys.argv[1] == "hang-at-start":
    hang()
while length := sys.stdin.buffer.read(4):
    header = json.loads(sys.stdin.buffer.read(struct.unpack("<I", length)[0]))
    kind, body = header["message"].popitem()
    parts = [sys.stdin.buffer.read(size) for size in header["payload"]]
    if kind == "hello":
        send("hello", {"protocol": 1, "backends": [DESCRIPTION for _ in body["variants"]]})
    elif sys.argv[1] == "answer":
        answer_at_length(body)
    elif sys.argv[1] == "memory-at-start":
        use_memory()
    else:
        HOSTILITIES[sys.argv[1]]()
