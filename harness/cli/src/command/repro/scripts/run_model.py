"""Run model.onnx with one backend and write what happened to FOLDER/report.json; reproduce.py starts this.

    python run_model.py FOLDER onnxruntime [PROVIDER] [off|basic|all]
    python run_model.py FOLDER plugin MODULE [off|basic|all]
    python run_model.py FOLDER tensorrt|tensorrt_rtx [LEVEL]
    python run_model.py FOLDER openvino|onnx_reference|tract|mnn|rten
    python run_model.py FOLDER torch_tensorrt [dynamo|ts|eager] [LEVEL]
"""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

import data

HERE = pathlib.Path(__file__).parent
REPETITIONS = 10


class Unavailable(Exception):
    """This machine lacks something that the reproduction needs."""


class Report:
    """What is known so far; it is written before every stage, so that it survives a crash."""

    def __init__(self, folder):
        self.folder = folder
        self.fields = {
            "backend": None, "program": None, "stage": "load", "error": None, "unavailable": None, "executed": False, "skipped": None,
            "inferred_shapes": None, "differing_repetitions": [], "fallbacks": [], "errors_logged": [],
        }

    def write(self, **fields):
        self.fields.update(fields)
        (self.folder / "report.json").write_text(json.dumps(self.fields))

    def keep(self, run, outputs):
        for index, output in enumerate(outputs):
            numpy.save(self.folder / f"run_{run}_output_{index}.npy", output)


def execute(report, run_model):
    """Runs the model on every input; more than once if its answers were reported to vary."""
    report.write(stage="execute")
    repetitions = REPETITIONS if data.KIND in ("nondeterministic", "unstable") else 1
    for run, inputs in enumerate(data.load_data()):
        outputs = run_model(inputs)
        report.keep(run, outputs)
        for repetition in range(1, repetitions):
            again = run_model(inputs)
            if any(one.tobytes() != other.tobytes() for one, other in zip(outputs, again)):
                varying = f"run {run}: repetition {repetition} gives other bits than the first"
                report.write(differing_repetitions=report.fields["differing_repetitions"] + [varying])
                break
    report.write(executed=True)


def run_preceding(load):
    """Runs the models that came before, for what they leave behind: some of them may be refused."""
    for model, runs in data.PRECEDING:
        try:
            run = load(model)
            for inputs in data.load(runs):
                run(inputs)
        except Unavailable:
            raise
        except Exception as error:
            print(f"before/{model}: {error}", file=sys.stderr)


def onnxruntime(report, provider="CPUExecutionProvider", optimization="all"):
    try:
        import onnx
        import onnxruntime as ort
    except ImportError as error:
        raise Unavailable(error)
    report.write(backend=f"ONNX Runtime {ort.__version__}, {provider}, optimization {optimization}", stage="parse")
    if provider not in ort.get_available_providers():
        raise Unavailable(f"this build of ONNX Runtime has no {provider}")
    options = session_options(ort, optimization)
    optimized = report.folder / "optimized.onnx"
    if data.FALLBACK_NODES:
        options.optimized_model_filepath = str(optimized)
    settings = {"cudnn_conv_algo_search": "HEURISTIC", "use_tf32": "0"} if provider.startswith("CUDA") else {}

    def session(model):
        session = ort.InferenceSession(str(HERE / model), options, providers=[(provider, settings)])
        if session.get_providers()[0] != provider:
            raise Unavailable(f"{provider} did not start: ONNX Runtime uses {session.get_providers()[0]}")
        return session

    def load(model):
        loaded = session(model)
        return lambda inputs: loaded.run(None, inputs)

    run_preceding(load)
    session = session("model.onnx")
    report.write(inferred_shapes=[output.shape for output in session.get_outputs()])
    if data.FALLBACK_NODES:
        quantized = ("QLinear", "ConvInteger", "MatMulInteger")
        floats = [
            node for node in onnx.load(str(optimized)).graph.node
            if node.name.split("_token_")[0] in data.FALLBACK_NODES and not node.op_type.startswith(quantized)
        ]
        report.write(fallbacks=[f"node {node.name!r} runs as {node.op_type}, not quantized" for node in floats])
    execute(report, lambda inputs: session.run(None, inputs))


def session_options(ort, optimization):
    levels = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.graph_optimization_level = {
        "off": levels.ORT_DISABLE_ALL, "basic": levels.ORT_ENABLE_BASIC, "all": levels.ORT_ENABLE_ALL
    }[optimization]
    options.intra_op_num_threads = 1
    # the log is for errors; what is wrong with a model is an exception
    options.log_severity_level = 3
    ort.set_default_logger_severity(3)
    return options


# provider options, by the module of the plugin
PLUGIN_SETTINGS = {
    "onnxruntime_ep_openvino": {
        "load_config": '{"CPU":{"INFERENCE_PRECISION_HINT":"f32","INFERENCE_NUM_THREADS":"1","NUM_STREAMS":"1"}}'
    }
}


def plugin(report, module, optimization="all"):
    """ONNX Runtime with an execution provider from a package of its own."""
    try:
        import onnxruntime as ort
        package = __import__(module)
        ort.register_execution_provider_library(module, package.get_library_path())
    except Exception as error:
        raise Unavailable(error)
    provider = package.get_ep_name()
    report.write(backend=f"ONNX Runtime {ort.__version__}, {provider}, optimization {optimization}", stage="parse")
    devices = [device for device in ort.get_ep_devices() if device.ep_name == provider]
    if not devices:
        raise Unavailable(f"{provider} finds no device on this machine")

    def load(model):
        options = session_options(ort, optimization)
        options.add_provider_for_devices(devices[:1], PLUGIN_SETTINGS.get(module, {}))
        session = ort.InferenceSession(str(HERE / model), options)
        if model == "model.onnx":
            report.write(inferred_shapes=[output.shape for output in session.get_outputs()])
        return lambda inputs: session.run(None, inputs)

    in_order(report, load)


def tensorrt(report, module, level=None):
    try:
        trt = __import__(module)
    except (ImportError, OSError) as error:
        raise Unavailable(error)
    report.write(backend=f"{module} {trt.__version__}", stage="parse")
    errors, logged_layers = [], []

    class Logger(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)

        def log(self, severity, text):
            if text.startswith("Layers:\n"):
                logged_layers[:] = [line for line in text.splitlines() if "LayerType:" in line]
            if severity <= trt.ILogger.ERROR:
                errors.append(text)
                report.write(errors_logged=errors)

    logger = Logger()
    builder = trt.Builder(logger)
    if builder is None:
        raise Unavailable("no builder: is there a GPU?")
    explicit = getattr(trt.NetworkDefinitionCreationFlag, "EXPLICIT_BATCH", None)
    network = builder.create_network(0 if explicit is None else 1 << int(explicit))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse((HERE / "model.onnx").read_bytes()):
        return report.write(error="; ".join(str(parser.get_error(i)) for i in range(parser.num_errors)))
    outputs = [network.get_output(index) for index in range(network.num_outputs)]
    report.write(inferred_shapes=[list(output.shape) for output in outputs], stage="build")
    plan = builder.build_serialized_network(network, configuration(trt, builder, network, level))
    if plan is None:
        if errors and present_gpu() is None and NEEDS_GPU in errors[0]:
            raise Unavailable(f"this model builds only where a GPU is: {errors[0]}")
        return report.write(error="; ".join(errors) or "the builder returns no engine")
    try:
        engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
        inspector = engine.create_engine_inspector()
        layers = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON)).get("Layers", [])
    except Exception as error:  # without a GPU there is no runtime; the builder has logged the layers
        report.write(fallbacks=list(fallbacks(map(logged_layer, logged_layers))))
        return report.write(skipped=f"the engine is built and not executed: {error}")
    report.write(fallbacks=list(fallbacks(layers)))
    try:
        from polygraphy.backend.trt import TrtRunner
    except ImportError as error:
        return report.write(skipped=f"the engine is built and not executed: {error}")
    with TrtRunner(engine) as runner:
        names = [output.name for output in outputs]

        def infer(inputs):
            answers = runner.infer(inputs)
            return [numpy.array(answers[name]) for name in names]

        execute(report, infer)


def openvino(report):
    try:
        import openvino as ov
    except ImportError as error:
        raise Unavailable(error)
    report.write(backend=f"OpenVINO {ov.__version__}, CPU")
    core = ov.Core()

    def load(path):
        model = core.read_model(HERE / path)
        report.write(stage="build")
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
        compiled = core.compile_model(model, "CPU", settings)

        def infer(inputs):
            # inputs that no node reads are gone
            known = [(port, name) for port in compiled.inputs for name in port.get_names() if name in inputs]
            results = compiled({port: inputs[name] for port, name in known})
            return [results[index] for index in range(len(compiled.outputs))]

        return infer

    in_order(report, load)


def onnx_reference(report):
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator
    except ImportError as error:
        raise Unavailable(error)
    report.write(backend=f"the reference evaluator of onnx {onnx.__version__}")

    def load(path):
        onnx.checker.check_model(str(HERE / path), full_check=True)
        evaluator = ReferenceEvaluator(str(HERE / path))
        return lambda inputs: evaluator.run(None, inputs)

    in_order(report, load)


def tract(report):
    try:
        import tract
    except ImportError as error:
        raise Unavailable(error)
    report.write(backend=f"tract {tract.version()}")

    def load(path):
        model = tract.onnx().load(str(HERE / path))
        report.write(stage="build")
        for index in range(model.input_count()):  # extents that have no name get one
            *shape, dtype = str(model.input_fact(index)).split(",")
            if "?" in shape:
                known = [f"Input{index}Axis{axis}" if each == "?" else each for axis, each in enumerate(shape)]
                model.set_input_fact(index, ",".join([*known, dtype]))
        runnable = model.into_model().into_runnable()
        return lambda inputs: [output.to_numpy() for output in runnable.run(list(inputs.values()))]

    in_order(report, load)


# MNN's names of the types in which it holds elements, where they are not numpy's
MNN_TYPES = {"float32": "float", "int32": "int", "int64": "int", "bool": "int"}


def mnn(report):
    """MNN's converter, then its module. Both print why they refuse a model."""
    try:
        # importing MNN.tools would install packages
        import _tools
        import MNN
        from MNN import expr, nn
    except ImportError as error:
        raise Unavailable(error)
    report.write(backend=f"MNN {MNN.version()}, CPU")
    runtime = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": 1},))

    def variable(array):
        kind = MNN_TYPES.get(str(array.dtype), str(array.dtype))
        held = array.astype("int32") if kind == "int" else array
        # arrays of 8-bit integers are not taken
        return expr.const(held.ravel().tolist() if kind == "int8" else held, list(array.shape), expr.NCHW, getattr(expr, kind))

    def value(output):
        if 0 in output.shape:
            name = str(output.dtype).rpartition(".")[2]
            return numpy.zeros(output.shape, {"float": "float32", "int": "int32"}.get(name, name))
        variable = expr.convert(output, expr.NCHW)
        # the array that it returns is the variable's memory
        return variable.read().copy()

    def load(path):
        converted = report.folder / f"{pathlib.Path(path).name}.mnn"
        _tools.mnnconvert(
            ["mnnconvert", "-f", "ONNX", "--modelFile", str(HERE / path), "--MNNModel", str(converted), "--bizCode", "twinfer"]
        )
        if not converted.exists():
            raise RuntimeError("MNN's converter prints why it writes no model")
        report.write(stage="build")
        module = nn.load_module_from_file(str(converted), [], [], runtime_manager=runtime)

        def infer(inputs):
            outputs = module.onForward([variable(array) for array in inputs.values()])
            if not outputs:
                raise RuntimeError("MNN prints why it computes nothing")
            return [widened(path, index, value(output)) for index, output in enumerate(outputs)]

        return infer

    in_order(report, load)


# the names of types in rten's program by those in numpy
RTEN_TYPES = {"float32": "f32", "int32": "i32", "int64": "i64", "int8": "i8", "uint8": "u8", "bool": "bool"}


def rten(report):
    """The program in the folder rten, a process for each run."""
    project = HERE / "rten"
    program = project / "target" / "release" / "run-with-rten"
    if not program.exists():
        raise Unavailable("reproduce.py has not compiled the program in the folder rten")
    manifest = (project / "Cargo.toml").read_text()
    report.write(backend="rten " + manifest.partition('rten = "=')[2].partition('"')[0])

    def load(model):
        return lambda inputs: run_rten(report, program, model, inputs)

    in_order(report, load)


def run_rten(report, program, model, inputs):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        described = []
        for index, array in enumerate(inputs.values()):
            file = folder / f"input_{index}.bin"
            file.write_bytes(array.tobytes())
            described.append(f"{RTEN_TYPES.get(str(array.dtype), array.dtype)}:{'x'.join(map(str, array.shape))}:{file}")
        command = [str(program), str(HERE / model), str(folder), *described]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace")
        sys.stderr.write(process.stderr)
        if process.returncode == 1:
            raise RuntimeError(process.stderr.strip())
        if process.returncode != 0:
            sys.exit(process.returncode if process.returncode > 0 else 128 - process.returncode)
        names = {rten_name: dtype for dtype, rten_name in RTEN_TYPES.items()}
        lines = (line.split(":") for line in process.stdout.splitlines())
        return [
            widened(model, index, numpy.fromfile(folder / f"{index}.bin", names[dtype]).reshape(shape_of(shape)))
            for index, (dtype, shape) in enumerate(lines)
        ]


def shape_of(text):
    return [int(extent) for extent in text.split("x") if extent]


def widened(model, index, output):
    """An output in the type that the model declares, if the runtime held it as 32-bit integers."""
    known = data.EXPECTED[0] if model == "model.onnx" and data.EXPECTED else []
    declared = numpy.dtype(known[index][0]) if index < len(known) else output.dtype
    return output.astype(declared) if output.dtype == numpy.int32 and declared in (numpy.int64, numpy.bool_) else output


def torch_tensorrt(report, ir="dynamo", level="default"):
    """The model as a module of PyTorch, which the files in the folder `converter` make of it and compile."""
    sys.path.insert(0, str(HERE / "converter"))
    try:
        import onnx
        import torch
        import torch_tensorrt_adapter

        backend = torch_tensorrt_adapter.TorchTensorRt(ir, level)
    except Exception as error:
        raise Unavailable(error)
    report.write(backend=f"{backend.name} {backend.version}")
    runs = {"model.onnx": data.RUNS} | dict(data.PRECEDING)

    def described(tensor):
        _, dtype, shape = tensor
        number = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        return {"dtype": onnx.TensorProto.DataType.Name(number), "shape": list(shape)}

    def load(model):
        converted = backend.parse((HERE / model).read_bytes())
        if model == "model.onnx":
            report.write(program=converted[0].code, stage="build")
        built = backend.build(converted, [[described(tensor) for tensor in run.values()] for run in runs[model]])

        def run(inputs):
            outputs, _ = built.run([torch.from_numpy(array.copy()) for array in inputs.values()], [])
            return [output.contiguous().cpu().numpy() for output in outputs]

        return run

    in_order(report, load)


def in_order(report, load):
    """Runs the models that came before, and then the model itself."""
    run_preceding(load)
    report.write(stage="parse")
    execute(report, load("model.onnx"))


# what a build fails of that looks for a GPU
NEEDS_GPU = "Error Code 1: Cuda Runtime (In generateForCurrent"


def present_gpu():
    """The compute capability of the first GPU, such as (8, 6); None without a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    calls = (
        lambda: driver.cuInit(0),
        lambda: driver.cuDeviceGet(ctypes.byref(device), 0),
        lambda: driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device),
        lambda: driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device),
    )
    return (major.value, minor.value) if all(call() == 0 for call in calls) else None


def runs_rtx(capability):
    """Whether TensorRT-RTX runs what it builds on such a GPU."""
    return capability is not None and (capability in ((8, 0), (8, 6), (8, 9)) or capability >= (12, 0))


PACKAGES = {
    "onnxruntime": onnxruntime, "plugin": plugin, "openvino": openvino, "onnx_reference": onnx_reference, "tract": tract, "mnn": mnn,
    "rten": rten, "torch_tensorrt": torch_tensorrt,
}


def configuration(trt, builder, network, level):
    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.clear_flag(trt.BuilderFlag.TF32)
    if trt.__name__ == "tensorrt":
        for needed, flag in ((data.HALF, "FP16"), (data.QUANTIZED, "INT8")):
            if needed and hasattr(trt.BuilderFlag, flag):
                config.set_flag(getattr(trt.BuilderFlag, flag))
    elif not runs_rtx(present_gpu()):
        config.num_compute_capabilities = 1
        config.set_compute_capability(trt.ComputeCapability.SM86, 0)
    if level is not None and level != "default":
        config.builder_optimization_level = int(level)
    if any(-1 in network.get_input(index).shape for index in range(network.num_inputs)):
        profile = builder.create_optimization_profile()
        runs = list(data.load_data())
        for index in range(network.num_inputs):
            name = network.get_input(index).name
            shapes = numpy.array([run[name].shape for run in runs])
            profile.set_shape(name, tuple(shapes.min(axis=0)), tuple(shapes[0]), tuple(shapes.max(axis=0)))
        config.add_optimization_profile(profile)
    return config


def logged_layer(line):
    """A layer as the builder logs it: `Name: …, LayerType: …, Inputs: [ … ], Outputs: [ … ], …, Metadata: …`."""
    name, _, rest = line.partition(", LayerType:")
    inputs = rest.partition("Inputs:")[2].partition("Outputs:")[0]
    return {"Name": name.removeprefix("Name: "), "Metadata": rest.partition("Metadata:")[2], "Inputs": [inputs]}


def fallbacks(layers):
    for layer in layers:
        about = layer if isinstance(layer, dict) else {"Name": layer}
        names = about.get("Name", "") + about.get("Metadata", "")
        formats = " ".join(str(tensor) for tensor in about.get("Inputs", [])).lower()
        for node in data.FALLBACK_NODES:
            if node in names and "int8" not in formats and "fp8" not in formats:
                yield f"node {node!r} runs in layer {about.get('Name')!r}, whose inputs are not quantized"


def main():
    report = Report(pathlib.Path(sys.argv[1]))
    report.write()
    backend, options = sys.argv[2], sys.argv[3:]
    try:
        if backend in PACKAGES:
            PACKAGES[backend](report, *options)
        else:
            tensorrt(report, backend, *options)
    except Unavailable as error:
        report.write(unavailable=str(error))
    except Exception as error:
        report.write(error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
