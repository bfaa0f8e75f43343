"""Fresh graphs to try an explanation or a trigger on: random ones, and ones at the edge of a bug's trigger."""
import dataclasses
import functools

import bugs
import draws
from triggers import CONDITIONS

FIRST = 1_000_000  # seeds from here on have made no bug
DRAWN = 12_000


@dataclasses.dataclass
class Fresh:
    """Seeds of graphs for one bug."""

    random: list
    positives: list  # the trigger holds
    near_misses: list  # all but one of its conditions hold


def fresh(bug, count, edge):
    """`count` random graphs, and up to `edge` on either side of the trigger's edge."""
    drawn = _conditions(bug.operator)
    places = [CONDITIONS[bug.operator].index(condition) for condition in bug.trigger.conditions]
    unmet = [min((sum(not node[place] for place in places) for node in nodes), default=None) for nodes in drawn]
    at = lambda wanted: [FIRST + place for place, number in enumerate(unmet) if number == wanted]
    return Fresh([FIRST + DRAWN + place for place in range(count)], at(0)[:edge], at(1)[:edge])


@functools.lru_cache(None)
def _conditions(operator):
    """Per graph and node of the operator, which conditions hold."""
    return [[tuple(condition.holds(facts) for condition in CONDITIONS[operator]) for facts in
             bugs.seen_facts(draws.drawn(operator, FIRST + place), operator)]
            for place in range(DRAWN)]


def is_triggered(bug, graph):
    """Whether the bug's trigger holds for some node of a graph."""
    return any(map(bug.holds, bugs.seen_facts(graph, bug.operator)))


def spared(bug, graph):
    """The outputs of the nodes of a bug's operator that it does not concern."""
    return [name for facts in bugs.seen_facts(graph, bug.operator) if not bug.holds(facts) for name in facts.node.outputs]
