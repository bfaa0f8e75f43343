"""All operators, and the evaluation of a model with a bug in it or without."""
import numpy

from convolution import ConvTranspose, Convolution
from elementwise import Add, BatchNormalization, Concat, Identity, Relu
from facts import Context
from pooling import MaxPool
from quantizers import DequantizeLinear, QuantizeLinear

OPERATORS = {"Conv": Convolution, "ConvTranspose": ConvTranspose, "QuantizeLinear": QuantizeLinear, "DequantizeLinear": DequantizeLinear,
             "Relu": Relu, "Add": Add, "MaxPool": MaxPool, "Concat": Concat, "BatchNormalization": BatchNormalization, "Identity": Identity}


class Evaluation:
    """Evaluates a model run by run. `bug` is None, or tells of facts whether it has a bug there and plants it."""

    def __init__(self, model, bug=None):
        self.model, self.bug = model, bug
        self.contexts = _contexts(model)
        self.triggered = 0

    def run(self, inputs):
        """All values of one run, by name. `inputs` are in the graph's order."""
        values = dict(self.model.initializers)
        values.update(zip([name for name, _ in self.model.inputs], inputs))
        with numpy.errstate(all="ignore"):
            for node, context in zip(self.model.nodes, self.contexts):
                operands = [values[name] if name else None for name in node.inputs]
                values[node.outputs[0]] = self.computed(node, operands, context)
        return values

    def computed(self, node, operands, context):
        """The output of one node."""
        facts = OPERATORS[node.op_type](node, operands, context)
        facts.resolve()
        if self.bug and self.bug.operator == node.op_type and self.bug.holds(facts):
            self.triggered += 1
            facts = self.bug.planted(OPERATORS[node.op_type](node, operands, context))
        return facts.compute()


def _contexts(model):
    """The context of each node."""
    producers = {name: "initializer" for name in model.initializers}
    producers.update((name, "input") for name, _ in model.inputs)
    readers = {}
    for node in model.nodes:
        producers[node.outputs[0]] = node.op_type
        for name in node.inputs:
            readers.setdefault(name, []).append(node.op_type)
    for name in model.outputs:
        readers.setdefault(name, []).append("output")
    return [Context(model.opset, [producers.get(name, "") for name in node.inputs], readers.get(node.outputs[0], [])) for node in model.nodes]
