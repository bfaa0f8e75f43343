#!/usr/bin/env python3
"""Planted bugs: one edit of one fact of one operator, under a trigger. Writes a list of them that follows from a seed."""
import argparse
import copy
import dataclasses
import json
import pathlib
import random

import numpy

import draws
from operators import OPERATORS, Evaluation
from triggers import CONDITIONS, Trigger

LIST = pathlib.Path(__file__).with_name("bugs.json")
SEED, COUNT, POOL = 22, 200, 2000
SHARES = {"Conv": 30, "ConvTranspose": 24, "QuantizeLinear": 14, "DequantizeLinear": 14, "BatchNormalization": 6, "MaxPool": 4, "Add": 4,
          "Relu": 2, "Concat": 2}
VISIBLE = 1e-4  # a difference relative to the largest element that counts as one


@dataclasses.dataclass(frozen=True)
class Bug:
    """An edit of a fact, under a trigger."""

    operator: str
    stage: str  # "stated": what follows from the fact changes too; "derived": it does not
    fact: str
    edit: str
    trigger: Trigger

    def holds(self, facts):
        """Whether the bug applies to a node with these resolved facts."""
        return self.trigger.holds(facts)

    @property
    def fact_of_operator(self):
        """The fact that is edited."""
        return next(fact for fact in _facts(self.operator, self.stage) if fact.name == self.fact)

    def planted(self, facts):
        """Resolves the facts with the edit made."""
        fact = self.fact_of_operator
        if self.stage == "stated":
            facts.applied(fact, self.edit)
            facts.resolve()
        else:
            facts.resolve()
            facts.applied(fact, self.edit)
        return facts

    @property
    def words(self):
        """The bug without its trigger."""
        fact = self.fact_of_operator
        note = "" if self.stage == "stated" or fact not in _facts(self.operator, "stated") else ", in an output of the right shape"
        return f"{fact.words} {self.edit}{note}"

    def record(self):
        """The bug as data."""
        conditions = [condition.words for condition in self.trigger.conditions]
        return {"operator": self.operator, "stage": self.stage, "fact": self.fact, "edit": self.edit, "trigger": conditions, "words": self.words}


@dataclasses.dataclass(frozen=True)
class Several:
    """Bugs of one operator, each under its trigger."""

    bugs: tuple

    @property
    def operator(self):
        """The operator."""
        operator, = {bug.operator for bug in self.bugs}
        return operator

    def holds(self, facts):
        """Whether some bug applies to a node with these resolved facts."""
        return any(bug.holds(facts) for bug in self.bugs)

    def planted(self, facts):
        """Resolves the facts with the edits made."""
        resolved = copy.deepcopy(facts)
        resolved.resolve()
        holding = [bug for bug in self.bugs if bug.holds(resolved)]
        for stage in ("stated", "derived"):
            for bug in holding:
                if bug.stage == stage:
                    facts.applied(bug.fact_of_operator, bug.edit)
            if stage == "stated":
                facts.resolve()
        return facts


def _facts(operator, stage):
    return OPERATORS[operator].STATED if stage == "stated" else OPERATORS[operator].DERIVED


def of_record(record):
    """The bug that `Bug.record` described."""
    conditions = {condition.words: condition for condition in CONDITIONS[record["operator"]]}
    trigger = Trigger(tuple(conditions[words] for words in record["trigger"]))
    return Bug(record["operator"], record["stage"], record["fact"], record["edit"], trigger)


def listed(path=LIST):
    """The bugs of a list."""
    return [of_record(record) for record in json.loads(path.read_text())["bugs"]]


class Pool:
    """Random graphs of one operator with their right outputs."""

    def __init__(self, operator):
        self.graphs = [draws.drawn(operator, seed) for seed in range(POOL)]
        self.facts, self.outputs = [], []
        for graph in self.graphs:
            seen = Spy(operator)
            self.outputs.append(output(graph, seen))
            self.facts.append(seen.facts)

    def where(self, trigger):
        """The positions of the graphs in which the trigger holds for some node."""
        return [place for place, facts in enumerate(self.facts) if any(map(trigger.holds, facts))]


class Spy:
    """Collects the resolved facts of an operator's nodes and plants nothing."""

    def __init__(self, operator):
        self.operator, self.facts = operator, []

    def holds(self, facts):
        """Keeps the facts."""
        self.facts.append(facts)
        return False


def seen_facts(graph, operator):
    """The resolved facts of an operator's nodes in a graph."""
    seen = Spy(operator)
    output(graph, seen)
    return seen.facts


def output(graph, bug):
    """What a graph gives."""
    values = Evaluation(graph.model, bug).run(graph.run)
    return values[graph.model.outputs[0]]


def differs(wrong, right):
    """Whether two outputs differ visibly."""
    if wrong.shape != right.shape or wrong.dtype != right.dtype:
        return True
    if right.dtype.kind in "iu":
        return bool((wrong != right).any())
    wrong, right = wrong.astype("float64"), right.astype("float64")
    largest = numpy.abs(right[numpy.isfinite(right)]).max(initial=0)
    with numpy.errstate(invalid="ignore"):
        apart = numpy.abs(wrong - right) > VISIBLE * largest + 1e-12
    return bool((apart | (numpy.isnan(wrong) != numpy.isnan(right))).any())


def is_bug(bug, pool, held):
    """Whether a bug shows in at least five graphs, and in a tenth of those in which it is triggered, and never fails."""
    shown = 0
    for place in held:
        try:
            shown += differs(output(pool.graphs[place], bug), pool.outputs[place])
        except (ValueError, IndexError, KeyError, FloatingPointError):
            return False
    return shown >= 5 and shown * 10 >= len(held)


def drawn_trigger(operator, pool, choose):
    """A trigger that holds in some graphs and not in all, and the graphs in which it does."""
    while True:
        count = choose.choices([0, 1, 2], [30, 45, 25])[0]
        trigger = Trigger(tuple(choose.sample(CONDITIONS[operator], count)))
        held = pool.where(trigger)
        parts = [len(pool.where(Trigger((condition,)))) for condition in trigger.conditions]
        if len(held) >= POOL // 100 and all(len(held) < POOL * 0.97 for _ in parts) and (count < 2 or len(held) < 0.9 * min(parts)):
            return trigger, held


def generated(seed, count):
    """So many different bugs."""
    choose, pools, bugs, taken = random.Random(seed), {}, [], set()
    while len(bugs) < count:
        operator = choose.choices(list(SHARES), SHARES.values())[0]
        edits = [(stage, fact.name, edit) for stage in ("stated", "derived") for fact in _facts(operator, stage) for edit in fact.edits]
        kind = choose.choice(sorted({edit[:2] for edit in edits}))
        edit = choose.choice([edit for edit in edits if edit[:2] == kind])
        if operator not in pools:
            pools[operator] = Pool(operator)
        trigger, held = drawn_trigger(operator, pools[operator], choose)
        bug = Bug(operator, *edit, trigger)
        if (operator, *edit) in taken or not is_bug(bug, pools[operator], held):
            continue
        taken.add((operator, *edit))
        bugs.append(bug)
        print(len(bugs) - 1, operator, bug.words, "|", trigger, flush=True)
    return bugs


def main():
    """Writes the list of a seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--out", type=pathlib.Path, default=LIST)
    arguments = parser.parse_args()
    bugs = generated(arguments.seed, arguments.count)
    lines = ",\n".join(json.dumps({"bug": place} | bug.record(), ensure_ascii=False) for place, bug in enumerate(bugs))
    arguments.out.write_text(f'{{"seed": {arguments.seed}, "bugs": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
