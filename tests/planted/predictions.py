"""Whether the triggers of findings predict where a bug shows."""
import dataclasses

import bugs
import draws
import explanations
import fresh

COUNT = 300  # graphs on either side of the edge of a bug's trigger


@dataclasses.dataclass
class Prediction:
    """What a finding's trigger says of fresh graphs."""

    positives: int = 0  # the bug's own trigger holds, and the output is wrong
    predicted: int = 0  # of these, those that satisfy the finding's trigger
    near_misses: int = 0  # the bug's own trigger is just missed
    mistaken: int = 0  # of these, those that satisfy the finding's trigger

    def add(self, is_wrong, is_satisfied):
        """Counts one graph."""
        if is_wrong:
            self.positives, self.predicted = self.positives + 1, self.predicted + is_satisfied
        else:
            self.near_misses, self.mistaken = self.near_misses + 1, self.mistaken + is_satisfied

    @property
    def figures(self):
        """Precision and recall."""
        return [self.predicted / max(self.predicted + self.mistaken, 1), self.predicted / max(self.positives, 1)]


def figures(bug, triggers, program):
    """Per trigger its precision and recall. Graphs in which the bug's own trigger holds and nothing comes of it do not count."""
    if not triggers:
        return []
    drawn = fresh.fresh(bug, 0, fresh.DRAWN)
    made = [Prediction() for _ in triggers]
    for seeds, is_wrong in [(drawn.positives, True), (drawn.near_misses, False)]:
        graphs = (draws.drawn(bug.operator, seed) for seed in seeds)
        for graph in first(COUNT, (graph for graph in graphs if not is_wrong or shows(bug, graph))):
            for prediction, is_satisfied in zip(made, program.answer(explanations.declared(graph), {"triggers": triggers})):
                prediction.add(is_wrong, is_satisfied)
    return [prediction.figures for prediction in made]


def first(count, items):
    """The first items, so many at most."""
    return (item for _, item in zip(range(count), items))


def shows(bug, graph):
    """Whether the output of a graph is visibly wrong, or missing."""
    wrong = explanations.planted(graph, bug)
    return wrong is None or bugs.differs(wrong, bugs.output(graph, None))
