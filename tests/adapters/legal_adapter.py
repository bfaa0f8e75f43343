#!/usr/bin/env python3
"""A twinfer worker in numpy that computes models by one legal implementation of ONNX. It knows nothing of golden."""
import argparse, functools, pathlib, sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "adapters"))

import numpy
import onnxruntime_adapter
from legal import products, transforms
from legal.session import LegalSession

DIRECT = {"sums": "in-single", "subnormals": "gradual"}
ANY = DIRECT | {"algorithms": "any"}
WAYS = {order: (DIRECT, {"sums": order}) for order in products.ORDERS} | {
    "normalization-folded": (DIRECT, {"folds": True}),
    "integer-kernels": (DIRECT, {"integers": True}),
    "reciprocal-scales": (DIRECT, {"reciprocal": True, "sums": "fused"}),
    "winograd-2": (ANY, {"transform": functools.partial(transforms.winograd, 2)}),
    "winograd-4": (ANY, {"transform": functools.partial(transforms.winograd, 4)}),
    "fourier": (ANY, {"transform": transforms.fourier}),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS, help="how operators are computed")
    parser.add_argument("--stated", choices=["direct"], help="the algorithms that are stated, whatever is true")
    arguments = parser.parse_args()
    arithmetic, options = WAYS[arguments.way]
    arithmetic = DIRECT if arguments.stated else arithmetic
    onnxruntime_adapter.BACKEND = {"name": "numpy", "version": numpy.__version__, "reaches": "execute", "capabilities": [],
                                   "arithmetic": arithmetic}
    onnxruntime_adapter.serve(lambda model: LegalSession(model, **options))
