"""Run model.onnx with ONNX Runtime and compare with the expected outputs.

    pip install numpy onnx onnxruntime
    python reproduce.py [PROVIDER] [--no-optimisations]
"""

import pathlib
import sys

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

from data import load_data

HERE = pathlib.Path(__file__).parent


def expected(run):
    files = sorted((HERE / f"test_data_set_{run}").glob("output_*.pb"))
    return [onnx.numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


def main():
    options = onnxruntime.SessionOptions()
    if "--no-optimisations" in sys.argv:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = [word for word in sys.argv[1:] if not word.startswith("--")] or ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(str(HERE / "model.onnx"), options, providers=providers)
    print(f"ONNX Runtime {onnxruntime.__version__}, {providers[0]}")
    equal = True
    for run, inputs in enumerate(load_data()):
        for index, (want, saw) in enumerate(zip(expected(run), session.run(None, inputs))):
            if want.shape != saw.shape:
                equal = False
                print(f"run {run}, output {index}: shape {saw.shape}, expected {want.shape}")
                continue
            difference = numpy.abs(saw.astype("f8") - want.astype("f8")).max(initial=0.0)
            equal &= difference == 0
            print(f"run {run}, output {index}: largest difference {difference:g}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
