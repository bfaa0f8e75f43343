"""Whether explanations predict what a bug does: golden with an explanation's mutants against the planted evaluation."""
import dataclasses
import json
import struct
import subprocess

import bugs
import draws
import fresh
import worker
from found import RIGHT
from model import encode

STEP = 50


@dataclasses.dataclass
class Agreement:
    """In how many fresh graphs an explanation agreed with the planted evaluation."""

    agreed: int = 0
    tried: int = 0
    agreed_if_triggered: int = 0
    tried_if_triggered: int = 0
    vague: int = 0  # agreed only because its bound is so wide that it holds right values too

    def add(self, answer, is_triggered):
        """Counts one graph."""
        agrees = answer != "differs"
        self.tried += 1
        self.agreed += agrees
        self.vague += answer == "vague"
        self.tried_if_triggered += is_triggered
        self.agreed_if_triggered += agrees and is_triggered

    @property
    def shares(self):
        """Of all graphs, those in which it agreed; of those in which the bug is triggered the same; of all, those where that says nothing."""
        return [self.agreed / max(self.tried, 1), self.agreed_if_triggered / max(self.tried_if_triggered, 1), self.vague / max(self.tried, 1)]


class Golden:
    """The program `agreement-with-mutants`."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answers(self, explanations, graph, output):
        """Per explanation: agrees, vague, differs, open or unknown. `output` is None if the backend failed."""
        model = encode(graph.model, graph.shapes)
        outputs = None if output is None else [worker.described(output)]
        question = {"explanations": explanations, "inputs": [worker.described(tensor) for tensor in graph.run], "outputs": outputs}
        parts = [model, *(tensor.tobytes() for tensor in graph.run), *([] if output is None else [output.tobytes()])]
        header = json.dumps({"message": question, "payload": [len(part) for part in parts]}).encode()
        self.process.stdin.write(b"".join([struct.pack("<I", len(header)), header, *parts]))
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def agreements(bug, names, golden, count=700, edge=150):
    """Per explanation its agreement. One that is refuted for all and for triggered graphs is not tried further."""
    drawn = fresh.fresh(bug, count, edge)
    seeds = [*drawn.positives, *drawn.near_misses, *drawn.random]
    agreed = {name: Agreement() for name in names}
    remaining = list(names)
    for place, seed in enumerate(seeds):
        if place % STEP == 0:
            remaining = [name for name in remaining if not _is_refuted(agreed[name], len(seeds))]
        if not remaining:
            break
        graph = declared(draws.drawn(bug.operator, seed))
        answers = golden.answers(remaining, graph, planted(graph, bug))
        is_triggered = fresh.is_triggered(bug, graph)
        for name, answer in zip(remaining, answers):
            if answer in ("agrees", "vague", "differs"):
                agreed[name].add(answer, is_triggered)
    return agreed


def _is_refuted(agreement, most):
    """Whether an explanation disagreed in more than the remaining graphs could make up for."""
    allowed = (1 - RIGHT) * most
    return agreement.tried_if_triggered - agreement.agreed_if_triggered > allowed and agreement.tried - agreement.agreed > allowed


def planted(graph, bug):
    """The output with the bug; None if it fails."""
    try:
        return bugs.output(graph, bug)
    except (ValueError, IndexError, KeyError):
        return None


def declared(graph):
    """The graph with the type of its output; the shape is what a bug may change."""
    graph.shapes[graph.model.outputs[0]] = (bugs.output(graph, None).dtype, None)
    return graph
