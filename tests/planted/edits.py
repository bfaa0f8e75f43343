"""What can go wrong with a fact, by the kind of fact: each kind is a table from words to a function of the right value.

An edit gets the facts of the node and the value of the fact, and returns another value.
"""
import numpy

import precision


def axis_values(default, least, sibling=None):
    """One number per spatial axis, such as the strides. `sibling` names a fact of the same kind and its words."""
    edits = {
        "are ignored": lambda facts, value: [default] * len(value),
        "are read in reverse order": lambda facts, value: value[::-1],
        "of the first axis apply to all axes": lambda facts, value: [value[0]] * len(value),
        "of the last axis apply to all axes": lambda facts, value: [value[-1]] * len(value),
        "of the last axis are ignored": lambda facts, value: value[:-1] + [default],
        "of the first axis are ignored": lambda facts, value: [default] + value[1:],
        "are one too large": lambda facts, value: [number + 1 for number in value],
        "are one too small": lambda facts, value: [max(number - 1, least) for number in value],
        "are at most 2": lambda facts, value: [min(number, 2) for number in value],
        "are the largest of them on all axes": lambda facts, value: [max(value)] * len(value),
    }
    if sibling:
        edits[f"are exchanged with {sibling[1]}"] = lambda facts, value: _exchange(facts, sibling[0], value)
        edits[f"are read from {sibling[1]}"] = lambda facts, value: list(getattr(facts, sibling[0]))
    return edits


def _exchange(facts, sibling, value):
    other = list(getattr(facts, sibling))
    setattr(facts, sibling, list(value))
    return other


def index_map():
    """Which entry each index reads: a list of positions."""
    return {
        "comes in reverse order": lambda facts, value: value[::-1],
        "is the next one's, wrapping around": lambda facts, value: numpy.roll(value, -1),
        "is the previous one's, wrapping around": lambda facts, value: numpy.roll(value, 1),
        "is the next one's, if there is one": lambda facts, value: value[numpy.minimum(_upto(value) + 1, len(value) - 1)],
        "is the first for all": lambda facts, value: value[_upto(value) * 0],
        "is the last for all": lambda facts, value: value[_upto(value) * 0 + len(value) - 1],
        "is the same within each pair of neighbors": lambda facts, value: value[_upto(value) // 2 * 2],
        "is exchanged within each pair of neighbors": lambda facts, value: value[numpy.minimum(_upto(value) ^ 1, len(value) - 1)],
        "is the last but one's instead of the last one's": lambda facts, value: value[numpy.minimum(_upto(value), max(len(value) - 2, 0))],
        "repeats in the second half": lambda facts, value: value[_upto(value) % max((len(value) + 1) // 2, 1)],
        "comes in steps of two": lambda facts, value: value[numpy.concatenate([_upto(value)[::2], _upto(value)[1::2]])],
    }


def _upto(value):
    return numpy.arange(len(value))


def parameter(neutral):
    """Values that enter into the result; `neutral` is the value that changes nothing."""
    return {
        "is ignored": lambda facts, value: value * 0 + neutral,
        "has the wrong sign": lambda facts, value: -value,
        "is applied twice": lambda facts, value: value * 2 if neutral == 0 else value * value,
        "loses its sign": lambda facts, value: abs(value),
        "is rounded to BFLOAT16": lambda facts, value: precision.to_bfloat(value),
        "is truncated to an integer": lambda facts, value: numpy.trunc(value),
        "is at most 1": lambda facts, value: numpy.minimum(value, 1),
    }


def extent(least=1):
    """How many there are of something: a sum's terms, positions that are written."""
    return {
        "ends one too early": lambda facts, value: max(value - 1, least),
        "is rounded down to an even number": lambda facts, value: max(value // 2 * 2, least),
        "is at most 2": lambda facts, value: min(value, 2),
        "is rounded down to a multiple of 4": lambda facts, value: max(value // 4 * 4, least),
        "ends at half": lambda facts, value: max((value + 1) // 2, least),
    }


def formats():
    """The format in which something is held."""
    return {f"is rounded to {name}": (lambda facts, value, name=name: name) for name in precision.FORMATS}


def choice(**others):
    """One of several values: the words of each, with underscores for spaces, and the value."""
    return {words.replace("_", " "): (lambda facts, value, other=other: other) for words, other in others.items()}


def offset():
    """A position that is added to where something is read."""
    return {"one position later": lambda facts, value: value + 1, "one position earlier": lambda facts, value: value - 1}


def steps(words):
    """The order of steps, each a key of `words`: neighbors exchanged, or one left out."""
    names = list(words)
    edits = {}
    for left, right in zip(names, names[1:]):
        edits[f"{words[right]} before it {words[left]}"] = lambda facts, value, left=left, right=right: _swapped(value, left, right)
    return edits


def _swapped(value, left, right):
    exchange = {left: right, right: left}
    return [exchange.get(step, step) for step in value]
