"""A twinfer worker around the Python package tract."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import worker_protocol

NUMPY = ["float16", "int8", "uint8", "int32", "int64", "bool"]
TYPES = {name.upper(): name for name in NUMPY} | {"FLOAT": "float32", "DOUBLE": "float64"}
# what an error says of one model: names in quotes, numbers
PARTICULARS = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|[-+]?\d[\d.,x]*")
QUANTIZERS = {"any": [{"operator": "QuantizeLinear"}, {"operator": "DequantizeLinear"}]}
CAPABILITIES = [
    {
        "rule": "tract-no-bfloat16",
        "source": "seen in 0.23.9: \"Unknown DatumType Bfloat16\"",
        "refuses": {"dtype": "BFLOAT16"},
        "shows": {"words": "Unknown DatumType Bfloat16"},
    },
    {
        "rule": "tract-quantizers-of-float16",
        "source": "seen in 0.23.9: \"Applying rule inputs[1].datum_type == F32\", \"Impossible to unify F16 with F32\"",
        "refuses": {"all": [QUANTIZERS, {"dtype": "FLOAT16"}]},
        "shows": {"stage": "build", "words": "datum_type == F32"},
    },
    {
        "rule": "tract-output-shape-of-symbolic-input",
        "source": "seen in 0.23.9: \"expects concrete dim for deconv\", with output_shape and any symbolic extent",
        "refuses": {"all": [{"operator": "ConvTranspose"}, "output-shape", "dynamic-shape"]},
        "shows": {"stage": "build", "words": "expects concrete dim for deconv"},
    },
]


class Tract(worker_protocol.Backend):
    name = "tract"
    types = TYPES
    capabilities = CAPABILITIES

    def __init__(self):
        os.environ["RUST_BACKTRACE"] = os.environ["RUST_LIB_BACKTRACE"] = "0"
        import tract

        self.tract, self.version = tract, tract.version()

    def parse(self, model):
        # it reads models from files alone
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model)
            file.flush()
            return self.tract.onnx().load(file.name)

    def build(self, model, runs):
        # a model of which an extent is not known at all has to be completed with facts: each such extent becomes a symbol
        for index in range(model.input_count()):
            *shape, dtype = str(model.input_fact(index)).split(",")
            if "?" in shape:
                known = [f"Input{index}Axis{axis}" if each == "?" else each for axis, each in enumerate(shape)]
                model.set_input_fact(index, ",".join([*known, dtype]))
        return model.into_model().into_runnable()

    def run(self, runnable, inputs, names):
        return [output.to_numpy() for output in runnable.run(inputs)], {}

    def refusal(self, error):
        """The innermost cause, without what it says of this model, tells errors apart."""
        text = str(error).split("Stack backtrace:")[0].strip()
        causes = [line for line in text.splitlines() if line.strip()]
        innermost = re.sub(r"^\s*\d+: ", "", causes[-1]) if causes else type(error).__name__
        return PARTICULARS.sub(" ", innermost).split(":")[0], text


if __name__ == "__main__":
    worker_protocol.serve("tract", Tract)
