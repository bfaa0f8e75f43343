"""Programs of this repository that answer questions about graphs."""
import json
import struct
import subprocess

import worker
from model import encode


class Program:
    """A program that is given a frame with each question, and answers with a line of JSON."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self, graph, question, tensors=()):
        """The answer to a question about a graph; `tensors` follow its inputs in the payload."""
        question |= {"inputs": [worker.described(tensor) for tensor in graph.run]}
        parts = [encode(graph.model, graph.shapes), *(tensor.tobytes() for tensor in [*graph.run, *tensors])]
        header = json.dumps({"message": question, "payload": [len(part) for part in parts]}).encode()
        self.process.stdin.write(b"".join([struct.pack("<I", len(header)), header, *parts]))
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())
