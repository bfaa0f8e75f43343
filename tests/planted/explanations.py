"""Whether explanations predict what a bug does: golden with an explanation's mutants against the planted evaluation."""
import dataclasses
import json

import bugs
import draws
import fresh
import worker
from found import RIGHT

STEP = 50
KNOWN = ("agrees", "vague", "differs")


@dataclasses.dataclass
class Agreement:
    """In how many fresh graphs an explanation agreed with the planted evaluation."""

    agreed: int = 0  # applied where its finding's trigger holds
    tried: int = 0
    vague: int = 0  # agreed only because its bound is so wide that it holds right values too
    agreed_if_triggered: int = 0  # applied where the bug is triggered, in graphs in which it is
    tried_if_triggered: int = 0
    vague_if_triggered: int = 0

    def add(self, answers, is_triggered):
        """Counts one graph."""
        if answers["claimed"] in KNOWN:
            self.tried += 1
            self.agreed += answers["claimed"] != "differs"
            self.vague += answers["claimed"] == "vague"
        if is_triggered and answers["planted"] in KNOWN:
            self.tried_if_triggered += 1
            self.agreed_if_triggered += answers["planted"] != "differs"
            self.vague_if_triggered += answers["planted"] == "vague"

    @property
    def shares(self):
        """Of all graphs, those in which it agreed, and those where that says nothing; of those in which the bug is triggered the same two."""
        of_all, of_triggered = max(self.tried, 1), max(self.tried_if_triggered, 1)
        return [self.agreed / of_all, self.vague / of_all, self.agreed_if_triggered / of_triggered, self.vague_if_triggered / of_triggered]


def claims(finding):
    """What a finding says is wrong, and where: one claim per explanation."""
    return [{"name": name, "trigger": finding.trigger} for name in finding.explanations]


def key(claim):
    """What tells a claim from others."""
    return json.dumps(claim, sort_keys=True)


def agreements(bug, made, golden, count=700, edge=150):
    """Per key of a claim its agreement, as the program `golden` says. One that is refuted both ways is not tried further."""
    drawn = fresh.fresh(bug, count, edge)
    seeds = [*drawn.positives, *drawn.near_misses, *drawn.random]
    remaining = {key(claim): claim for claim in made}
    agreed = {name: Agreement() for name in remaining}
    for place, seed in enumerate(seeds):
        if place % STEP == 0:
            remaining = {name: claim for name, claim in remaining.items() if not _is_refuted(agreed[name], len(seeds))}
        if not remaining:
            break
        graph = declared(draws.drawn(bug.operator, seed))
        spared = fresh.spared(bug, graph)
        answered = answers(golden, list(remaining.values()), spared, graph, planted(graph, bug))
        for name, answer in zip(remaining, answered):
            agreed[name].add(answer, fresh.is_triggered(bug, graph))
    return agreed


def answers(golden, made, spared, graph, output):
    """Per claim: agrees, vague, differs, open or unknown, as it is claimed and as the bug is planted. `output` is None if the backend failed."""
    outputs = [] if output is None else [output]
    described = None if output is None else list(map(worker.described, outputs))
    return golden.answer(graph, {"explanations": made, "spared": spared, "outputs": described}, outputs)


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
