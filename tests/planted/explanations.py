"""Whether explanations predict what a bug does: golden with an explanation's mutants against the planted evaluation."""
import dataclasses

import bugs
import draws
import fresh
import worker
from found import RIGHT

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


def answers(golden, names, graph, output):
    """Per explanation: agrees, vague, differs, open or unknown. `output` is None if the backend failed."""
    outputs = [] if output is None else [output]
    described = None if output is None else list(map(worker.described, outputs))
    return golden.answer(graph, {"explanations": names, "outputs": described}, outputs)


def agreements(bug, names, golden, count=700, edge=150):
    """Per explanation its agreement, as the program `golden` says. One that is refuted for all and for triggered graphs is not tried further."""
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
        answered = answers(golden, remaining, graph, planted(graph, bug))
        is_triggered = fresh.is_triggered(bug, graph)
        for name, answer in zip(remaining, answered):
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
