//! Python environments of pinned packages, each with the adapter that serves its backend.

use crate::{Digest, PinnedPackage, Product, digest::sha256_of, pinned_package::Python, torch_packages};

/// The pinned packages of a backend that is a Python package, and the adapter around it, which `backends install NAME` makes a Python
/// environment of.
#[derive(Debug, PartialEq, Eq)]
pub struct Environment {
    /// The product; the environment is installed under its name.
    pub product: Product,
    /// The pinned version of the package that does the work.
    pub version: &'static str,
    /// The size of all wheels in megabytes, rounded; shown while downloading.
    pub megabytes: u32,
    /// The packages, that of the product first. Packages that they need are listed too.
    pub packages: &'static [PinnedPackage],
    /// The Python that runs it.
    pub(crate) python: Python,
    /// The adapter's source: the file that Python runs, then those that it imports.
    pub(crate) sources: &'static [Source],
}

/// A file of an adapter, which this program contains.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub name: &'static str,
    pub text: &'static str,
}

/// The Python versions that have wheels of every package of most environments.
const PYTHONS: [&str; 4] = ["3.11", "3.12", "3.13", "3.14"];
/// The Python of most environments.
const PYTHON: Python = Python { program: "python3", versions: &PYTHONS };

impl Environment {
    /// The environment of `product`; `None` if the product is no Python package.
    pub fn of(product: Product) -> Option<&'static Self> {
        ENVIRONMENTS.iter().find(|environment| environment.product == product)
    }

    /// The names and texts of the files of the adapter.
    pub fn sources(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.sources.iter().map(|source| (source.name, source.text))
    }

    /// The environment of the product called `name`, or of the pinned release `NAME==VERSION`; `None` if there is none.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let (name, version) =
            name.split_once("==").map_or((name, None), |(name, version)| (name, Some(version)));
        let environment = Product::named(name).and_then(Self::of);
        environment.filter(|environment| version.is_none_or(|version| version == environment.version))
    }
}

impl Source {
    pub fn sha256(&self) -> Digest {
        sha256_of(self.text.as_bytes())
    }
}

/// A file of the folder `adapters`.
macro_rules! source {
    ($name:literal) => {
        Source { name: $name, text: include_str!(concat!("../adapters/", $name)) }
    };
}

const PROTOCOL: Source = source!("worker_protocol.py");

const NUMPY: PinnedPackage = PinnedPackage {
    distribution: "numpy",
    version: "2.4.6",
    pythons: &PYTHONS,
    hashes: &[
        "89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93",
        "90f9849678c75fe7afa2d348ac842c168b0a4d3d61919687216dfc547976d853",
        "a7830bab239b79cda9c08c2da014761cafb48da6150e1da17ac06283f43b6089",
        "a2c306dea656c12c68f51f4cea133cbe78ca7435eb28c735eac1d3ebe73be6e8",
    ],
};

const OPENVINO: PinnedPackage = PinnedPackage {
    distribution: "openvino",
    version: "2026.4.1",
    pythons: &PYTHONS,
    hashes: &[
        "2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf",
        "6b4375c17ddcac83a5180349e2e2bb811185c261066e2a920659892d58ef0e3b",
        "a9b637846c579d7b81b17b6585e0c7b1947574e8d13cf83d7307ce50cd2c352e",
        "3631dd889dccf3d5087775948590a6609a662f90c24a9cf85bb4dfa0cdd7fd2f",
    ],
};

const ONNX: PinnedPackage = PinnedPackage {
    distribution: "onnx",
    version: "1.23.2",
    pythons: &PYTHONS,
    hashes: &[
        "c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348",
        "7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b",
        "7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b",
        "7abf381d278f31ac62487fddedc9dd42da842dce94d5d43536836ee3efdf4a2b",
    ],
};

const ML_DTYPES: PinnedPackage = PinnedPackage {
    distribution: "ml_dtypes",
    version: "0.6.0",
    pythons: &PYTHONS,
    hashes: &[
        "6c8e39b53e90afda8ce52859c93de4dba3e02b76d85dcf091cc469f9184c6dae",
        "3b4a480aa8fd54a1805b8ac10f3f91763926a74f73c0c364c10f9231854f4170",
        "26b1f1fa4f0435a2946859823f6e2bf06796f1e9f10f5a05b08a5e3c8f46ff69",
        "8f490c003369ce60e514a0c3b12374f05274c101fee1bead6740ec8a564032b0",
    ],
};

const PROTOBUF: PinnedPackage = PinnedPackage {
    distribution: "protobuf",
    version: "7.36.2",
    pythons: &PYTHONS,
    hashes: &["89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2"; PYTHONS.len()],
};

const TYPING_EXTENSIONS: PinnedPackage = PinnedPackage {
    distribution: "typing_extensions",
    version: "4.16.0",
    pythons: &PYTHONS,
    hashes: &["481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8"; PYTHONS.len()],
};

const TRACT: PinnedPackage = PinnedPackage {
    distribution: "tract",
    version: "0.23.9",
    pythons: &PYTHONS,
    hashes: &[
        "dbb005b06c87e3247d81131167e605ff05f6ffb0751c66144aeb972603e8b0a0",
        "45a319bb19be6d2df3ba18bdfd99606a5e39405bca6d28314a3949da4d85ba1a",
        "ab322a5c12f2f0c2ea57bea61a9014fb1ae57d65d735ea6ce34f3d3bd0123316",
        "3644ff576e4ba1ea1f4d4f55296d6af1199dbe1e779f5f2de3b75d6837313c1c",
    ],
};

const MNN: PinnedPackage = PinnedPackage {
    distribution: "MNN",
    version: "3.6.1",
    pythons: &PYTHONS,
    hashes: &[
        "abebaaa0c7b0af6dfd6e9f4bda46bb6a30bb95d2b88a5b441a65d1cd322311d0",
        "9091f8eaa24a4eaa86c9f4e8ab731a5dce00e9ea68d8628a5dd8d73486be9200",
        "34e8a4ebc2671459dbf1305f26f6861d14897b581cff4d0920ae8805445af46f",
        "c3e269d179e5c67d5cb387799005b98b18008e8e2e6f2e0fcac4c4752b4cdd3d",
    ],
};

/// All environments.
pub const ENVIRONMENTS: &[Environment] = &[
    Environment {
        product: Product::OpenVino,
        version: OPENVINO.version,
        megabytes: 76,
        packages: &[OPENVINO, NUMPY],
        python: PYTHON,
        sources: &[source!("openvino_adapter.py"), PROTOCOL, source!("onnx_model.py")],
    },
    Environment {
        product: Product::OnnxReference,
        version: ONNX.version,
        megabytes: 27,
        packages: &[ONNX, NUMPY, ML_DTYPES, PROTOBUF, TYPING_EXTENSIONS],
        python: PYTHON,
        sources: &[source!("onnx_reference_adapter.py"), PROTOCOL],
    },
    Environment {
        product: Product::Tract,
        version: TRACT.version,
        megabytes: 28,
        packages: &[TRACT, NUMPY],
        python: PYTHON,
        sources: &[source!("tract_adapter.py"), PROTOCOL],
    },
    Environment {
        product: Product::Mnn,
        version: MNN.version,
        megabytes: 35,
        packages: &[MNN, NUMPY],
        python: PYTHON,
        sources: &[source!("mnn_adapter.py"), PROTOCOL, source!("onnx_model.py"), source!("printed_text.py")],
    },
    Environment {
        product: Product::TorchTensorRt,
        version: torch_packages::VERSION,
        megabytes: torch_packages::MEGABYTES,
        packages: torch_packages::PACKAGES,
        python: torch_packages::PYTHON,
        sources: &[
            source!("torch_tensorrt_adapter.py"),
            PROTOCOL,
            source!("torch_module.py"),
            source!("torch_operators.py"),
            source!("torch_tensorrt_compiler.py"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_pinned_for_every_python() {
        for environment in ENVIRONMENTS {
            let [first, ..] = environment.packages else { panic!("{} has no package", environment.product) };
            assert_eq!(first.version, environment.version, "{}", environment.product);
            for package in environment.packages {
                let is_digest = |python: &&str| package.sha256(python).is_some_and(|hash| hash.len() == 64);
                assert!(environment.python.versions.iter().all(is_digest), "{}", package.distribution);
                assert_eq!(package.pythons.len(), package.hashes.len(), "{}", package.distribution);
            }
        }
    }

    /// What Python prints for `expression`, with the arguments `words`. It can import all adapters.
    fn protocol_prints(expression: &str, words: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in ENVIRONMENTS.iter().flat_map(Environment::sources) {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let script =
            format!("import sys; sys.path.insert(0, sys.argv[1]); import worker_protocol; {expression}");
        let mut python = std::process::Command::new("python3");
        let output = python.args(["-I", "-c", &script]).arg(folder.path()).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn adapters_send_codes_that_the_protocol_takes_for_codes() {
        let codes = ["conv.cpp", "Failed analyse for node #… ConvHir, with some thirty letters", "…"];
        let plain = protocol_prints("print(*map(worker_protocol.plain, sys.argv[2:]), sep='\\n')", &codes);
        assert_eq!(plain, ["conv cpp", "Failed analyse for node ConvHir with som", "error"]);
    }

    #[test]
    fn mistake_in_an_adapter_is_told_from_an_error_of_the_runtime() {
        let place = |raising: &str| {
            let script = format!(
                "exec(\"try: {raising}\\nexcept Exception as error: print(worker_protocol.mistake(error))\")"
            );
            protocol_prints(&script, &[]).concat()
        };
        assert!(
            place("worker_protocol.Backend.described(worker_protocol.Backend(), 1)")
                .starts_with("worker_protocol.py, line ")
        );
        assert_eq!(place("{}[1]"), "None");
        assert_eq!(place("worker_protocol.Backend().parse(b'')"), "None");
    }

    #[test]
    fn code_of_what_mnn_prints_has_no_name_of_a_model() {
        let printed = [
            "Start to Optimize the MNN Net...",
            "[12:54:40] :220: These Op Not Support: ONNX::ConvInteger",
            "\t**Tensor shape**: 8, 1, 16, 16,",
            "Compute Shape Error for left",
            "Convert Onnx's Op left , type = Conv, failed",
        ];
        let code = "print(*[mnn_adapter.MnnError([line]).code for line in sys.argv[2:]], sep='\\n')";
        assert_eq!(
            protocol_prints(&format!("import mnn_adapter; {code}"), &printed),
            [
                "no reason printed",
                "These Op Not Support: ONNX::ConvInteger",
                "no reason printed",
                "Compute Shape Error for  ",
                "Convert Onnx's Op   , type = Conv, failed"
            ]
        );
    }

    #[test]
    fn interface_of_a_model_is_read_without_a_package() {
        // an output `y`, FLOAT16
        let model = "bytes([58, 11, 98, 9, 10, 1, 121, 18, 4, 10, 2, 8, 10])";
        let names = format!("list(onnx_model.output_names({model})), list(onnx_model.input_names({model}))");
        let types = format!("[onnx_model.element_type(value) for value in onnx_model.outputs({model})]");
        let printed = protocol_prints(&format!("import onnx_model; print({names}, {types})"), &[]);
        assert_eq!(printed, ["['y'] [] ['FLOAT16']"]);
    }

    #[test]
    fn what_native_code_prints_is_collected() {
        let script = "import ctypes, printed_text; libc = ctypes.CDLL(None); collecting = printed_text.collected(); \
             lines = collecting.__enter__(); libc.puts(b'native'); print('python'); collecting.__exit__(None, None, None); print(lines)";
        assert_eq!(protocol_prints(script, &[]), ["['python', 'native']"]);
    }

    #[test]
    fn outputs_have_any_type_of_the_protocol() {
        let of = |name: &str| {
            let tensor = "(types.SimpleNamespace(dtype=kind, shape=(), tobytes=bytes))";
            let told = format!(
                "import types; kind = types.SimpleNamespace(name='{name}'); \
                 exec(\"try: print(*worker_protocol.Backend().described{tensor})\\nexcept worker_protocol.Refused as refused: print(refused)\")"
            );
            protocol_prints(&told, &[]).concat()
        };
        assert_eq!(of("float64"), "DOUBLE [] b''");
        assert_eq!(of("complex64"), "an output is complex64, which the protocol does not have");
    }

    #[test]
    fn types_that_an_adapter_leaves_out_are_refused() {
        let given = "worker_protocol.Backend().from_bytes(b'', 'FLOAT16', [0])";
        let script = format!(
            "exec(\"try: {given}\\nexcept worker_protocol.Refused as refused: print(refused.code)\")"
        );
        assert_eq!(protocol_prints(&script, &[]), ["element type"]);
    }

    #[test]
    fn adapters_take_their_own_options_and_their_values() {
        let of = |variant: &str| {
            let known = "{'ir': ['dynamo', 'ts']}";
            let chosen = format!("worker_protocol.chosen_options(sys.argv[2], {known})");
            let told = format!(
                "exec(\"try: print({chosen})\\nexcept worker_protocol.Fault as fault: print(fault.cause, fault)\")"
            );
            protocol_prints(&told, &[variant]).concat()
        };
        assert_eq!(of("torch"), "{'ir': 'dynamo', 'version': None}");
        assert_eq!(of("torch,ir=ts,version=2"), "{'ir': 'ts', 'version': '2'}");
        assert_eq!(of("torch,ir=fx"), "variant ir=fx is unknown to torch: use one of dynamo, ts");
        assert_eq!(
            of("torch,opt=off"),
            "variant unknown option 'opt' of torch: it takes ir and version alone"
        );
    }

    #[test]
    fn python_without_wheels_has_no_hash() {
        assert_eq!(NUMPY.sha256("3.10"), None);
        assert_eq!(NUMPY.sha256("3.12"), Some(NUMPY.hashes[1]));
    }
}
