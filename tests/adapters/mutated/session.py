"""A model that ONNX Runtime runs node by node, so that a bug can change what each node does."""
import enum, functools

import onnx, onnxruntime
from onnx import helper, numpy_helper

from .window import Window

WITHOUT_OPTIMIZATIONS = onnxruntime.SessionOptions()
WITHOUT_OPTIMIZATIONS.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
WITHOUT_OPTIMIZATIONS.intra_op_num_threads = WITHOUT_OPTIMIZATIONS.inter_op_num_threads = 1
WITHOUT_OPTIMIZATIONS.log_severity_level = 4


class Origin(enum.Enum):
    """The origin of a value, which quantizing and dequantizing it does not change."""
    CONSTANT = "initializers alone"
    FED = "an input of the graph"
    COMPUTED = "an operator"


class Step:
    """One node that is about to run. A bug changes its operator's inputs, attributes or window, or sets the result."""

    def __init__(self, node, session):
        self.node, self.session = node, session
        self.op = node.op_type
        self.inputs = [session.values.get(name) for name in node.input]
        self.attributes = attributes_of(node)
        self.result = None

    @functools.cached_property
    def window(self):
        """The geometry of a convolution, with all attributes resolved. Once accessed, it replaces the attributes."""
        return Window(self.op, self.inputs[0].shape, self.inputs[1].shape, self.attributes)

    @property
    def origin(self):
        """The origin of the first input."""
        return self.origin_of(self.node.input[0])

    def origin_of(self, name):
        return self.session.origins[name]

    @property
    def bias(self):
        """The bias of a convolution, or None."""
        return self.inputs[2] if len(self.inputs) > 2 else None

    @bias.setter
    def bias(self, bias):
        self.inputs[2:] = [bias]

    def producer(self, place=0):
        """The node that computes an input; None if the input is fed or constant."""
        return self.producer_of(self.node.input[place])

    def producer_of(self, name):
        """The node that computes a value; None if the value is fed or constant."""
        return self.session.producers.get(name)

    def value_of(self, name):
        return self.session.values.get(name)

    def call(self, op, *inputs, **attributes):
        """The result of an operator in ONNX Runtime."""
        return call(self.session.model, op, inputs, attributes)

    def run(self):
        if self.result is None and "window" in vars(self):
            self.result = self.window.convolve(self.call, *self.inputs)
        if self.result is None:
            self.result = self.call(self.op, *self.inputs, **self.attributes)
        return self.result


def attributes_of(node):
    return {one.name: helper.get_attribute_value(one) for one in node.attribute}


class MutatedSession:
    """Stands in for onnxruntime.InferenceSession: `bug` is called with each step before it runs."""

    def __init__(self, model, bug):
        self.model, self.bug = onnx.load_from_string(model), bug
        self.constants = {one.name: numpy_helper.to_array(one) for one in self.model.graph.initializer}
        self.producers = {output: node for node in self.model.graph.node for output in node.output}

    def get_inputs(self):
        return [one for one in self.model.graph.input if one.name not in self.constants]

    def run(self, names, feeds):
        self.values = dict(self.constants) | feeds
        self.origins = {name: Origin.CONSTANT for name in self.constants} | {name: Origin.FED for name in feeds}
        for node in self.model.graph.node:
            step = Step(node, self)
            self.bug(step)
            self.values[node.output[0]] = step.run()
            self.origins[node.output[0]] = self.origin_behind(node)
        return [self.values[one.name] for one in self.model.graph.output]

    def origin_behind(self, node):
        origins = [self.origins[name] for name in node.input if name]
        if node.op_type in ("Identity", "QuantizeLinear", "DequantizeLinear"):
            return origins[0]
        return Origin.CONSTANT if set(origins) == {Origin.CONSTANT} else Origin.COMPUTED


def call(model, op, inputs, attributes):
    """One operator, in the operator set of `model`, on arrays; None leaves an optional input out."""
    names = [f"i{place}" if value is not None else "" for place, value in enumerate(inputs)]
    feeds = {name: value for name, value in zip(names, inputs) if name}
    declared = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                for name, value in feeds.items()]
    node = helper.make_node(op, names, ["o"], **attributes)
    graph = helper.make_graph([node], "one", declared, [onnx.ValueInfoProto(name="o")])
    one = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    session = onnxruntime.InferenceSession(one.SerializeToString(), WITHOUT_OPTIMIZATIONS,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]
