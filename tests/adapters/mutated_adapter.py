#!/usr/bin/env python3
"""A twinfer worker around ONNX Runtime with a planted bug."""
import argparse, pathlib, sys

import onnx

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "adapters"))

import onnxruntime_adapter
from mutated.bugs import BUGS
from mutated.session import MutatedSession
from mutated.strangers import STRANGERS

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--bug", help="which bug, or several at once: NAME+NAME; NAME@NODE at one node")
    what.add_argument("--list", action="store_true", help="name all bugs")
    parser.add_argument("--node", help="the name of the node that has the bug; all nodes by default")
    parser.add_argument("--fewest-nodes", type=int, default=0, help="only models of so many nodes have the first bug")
    parser.add_argument("--all", action="store_true", help="--fewest-nodes concerns all bugs")
    parser.add_argument("--singles", choices=["single", "half", "bfloat16", "either"],
                        help="the type in which 32-bit floats may be held, as is stated; they keep 32 bits all the same")
    parser.add_argument("--outputs-only", action="store_true", help="return no values inside the graph")
    parser.add_argument("--on-floats", action="store_true",
                        help="promise to fuse the quantizers around convolutions, and report that convolutions run on floats")
    parser.add_argument("--quantized-from", type=int, default=sys.maxsize,
                        help="with --on-floats: report that those of models of so many nodes run quantized")
    parser.add_argument("--told-below", type=int, default=sys.maxsize,
                        help="with --on-floats: report no layers of models of so many nodes")
    arguments = parser.parse_args()
    if arguments.list:
        print(*BUGS, *STRANGERS, sep="\n")
    else:
        parts = [name.partition("@") for name in arguments.bug.split("+")]
        bugs = [((BUGS | STRANGERS)[name], node or arguments.node) for name, _, node in parts]
        if arguments.singles:
            onnxruntime_adapter.BACKEND["arithmetic"] = {"singles": arguments.singles}
        if arguments.outputs_only:
            observe = onnxruntime_adapter.observe
            onnxruntime_adapter.observe = lambda start, model, case, *others: observe(
                start, model, case | {"intermediates": []}, *others)

        if arguments.on_floats:
            onnxruntime_adapter.BACKEND["quantization"] = "fuses-operands"
            returned = onnxruntime_adapter.observe

            def observe_layers(start, model, *others):
                seen, results = returned(start, model, *others)
                nodes = onnx.load_from_string(model).graph.node
                dtype = "INT8" if len(nodes) >= arguments.quantized_from else "FLOAT"
                layers = [{"name": node.name, "operator": node.op_type, "inputs": [dtype], "outputs": ["FLOAT"],
                           "weights": dtype, "tactic": None, "placement": None, "nodes": [node.name]}
                          for node in nodes if node.op_type in ("Conv", "ConvTranspose") and len(nodes) < arguments.told_below]
                return seen | {"precision": {"layers": layers}}, results

            onnxruntime_adapter.observe = observe_layers

        def session(model):
            nodes = len(onnx.load_from_string(model).graph.node)
            planted = bugs if nodes >= arguments.fewest_nodes else [] if arguments.all else bugs[1:]
            return MutatedSession(model, lambda step: [bug(step) for bug, node in planted if node in (None, step.node.name)])

        onnxruntime_adapter.serve(session)
