"""The base of the descriptions: the facts of one node, what depends on them, and what the node computes from them.

A description is used in two steps. Its constructor reads what the node states: attributes and inputs. `resolve` derives what follows
from that, such as extents and index maps. An edit of a *stated* fact happens between the two and therefore also changes
what follows, the shape of the output for instance; an edit of a *derived* fact happens afterwards. `compute` gives the output.
"""
import dataclasses


@dataclasses.dataclass
class Context:
    """Where a node stands in its graph."""

    opset: int
    producers: list  # per input: the type of the node that computes it, "initializer", "input" or "" if it is left out
    readers: list  # the types of the nodes that read the output; "output" if the graph gives it


@dataclasses.dataclass(frozen=True)
class Fact:
    """A fact that can be edited: the attribute of the description that holds it, its words, and its edits."""

    name: str
    words: str
    edits: dict


class Facts:
    """The facts of a node."""

    STATED = ()
    DERIVED = ()

    def __init__(self, node, inputs, context):
        self.node, self.inputs, self.context = node, inputs, context

    def resolve(self):
        """Derives what follows from the stated facts."""

    def compute(self):
        """The output."""
        raise NotImplementedError

    def optional(self, position):
        """The input at `position`; None if it is left out."""
        return self.inputs[position] if position < len(self.inputs) else None

    def applied(self, fact, edit):
        """Edits a fact in place."""
        setattr(self, fact.name, fact.edits[edit](self, getattr(self, fact.name)))
