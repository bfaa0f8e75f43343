//! Writes the seed corpora of the fuzz targets: `cargo run --example seeds` fills `corpus/`.

use std::{
    error::Error,
    fs,
    io::{Cursor, Write},
    path::PathBuf,
};

use twinfer_case::{
    Blame, Budget, Capability, Case, CaseRecord, Condition, Description, Distribution, Divergence, Fillable,
    Kind, Machine, Note, Observation, Outcome, OutputFilling, RunEnd, RunInfo, RunOutput, Shard, Stage, Task,
    Variant, VariantInfo, VariantRecord, Verdict,
};
use twinfer_fuzz::{generated, joined};
use twinfer_golden::{Mutant, evaluate};
use twinfer_onnx::{DataType, Tensor};
use twinfer_protocol::{FromWorker, PROTOCOL_VERSION, ToWorker};
use zip::{ZipWriter, write::SimpleFileOptions};

type Done = Result<(), Box<dyn Error>>;

/// The number of cases of each family.
const CASES: u64 = 12;

/// The largest seed in bytes. Small inputs are mutated faster, and the generators produce enough of them.
const LARGEST: usize = 24 << 10;

fn main() -> Done {
    models()?;
    frames()?;
    configurations()?;
    inputs()?;
    findings()?;
    runs()
}

/// Writes one input for `target`.
fn seed(target: &str, name: &str, input: &[u8]) -> Done {
    if input.len() > LARGEST {
        return Ok(());
    }
    let folder = root().join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), input)?)
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn models() -> Done {
    for (index, case) in generated(CASES).enumerate() {
        let model = case.graph.encode();
        seed("model", &format!("model-{index}"), &model)?;
        let mutant = (index % Mutant::ALL.len()) as u8;
        seed("golden", &format!("model-{index}"), &[&[mutant, index as u8], &model[..]].concat())?;
    }
    for (index, dtype) in DataType::ALL.into_iter().enumerate() {
        let tensor = Tensor::from_f64(dtype, vec![2, 1], &[1.0, 0.0])?;
        seed("model", &format!("tensor-{index}"), &tensor.encode_proto("x"))?;
    }
    Ok(())
}

/// Two inputs of two elements, in a folder and in an archive.
fn inputs() -> Done {
    let array = array("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }");
    let tensor = Tensor::from_f64(DataType::Float, vec![1, 2], &[1.0, 0.0])?.encode_proto("y");
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["x.npy", "y.npy"] {
        archive.start_file(name, SimpleFileOptions::default())?;
        archive.write_all(&array)?;
    }
    let archive = archive.finish()?.into_inner();
    let files: [(&str, &[u8]); 3] =
        [("inputs/x.npy", &array), ("inputs/input_1.pb", &tensor), ("inputs.npz", &archive)];
    seed("inputs", "two", &joined(files))
}

/// An array of two floats with this header, as `NumPy` writes it.
fn array(header: &str) -> Vec<u8> {
    let length = (header.len() as u16).to_le_bytes();
    let elements = [1.0f32, 0.0].map(f32::to_le_bytes).concat();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &elements].concat()
}

fn frames() -> Done {
    let variant: Variant = "ort:cpu,opt=off".parse()?;
    let mut greeting = Vec::new();
    let said = FromWorker::Hello {
        protocol: PROTOCOL_VERSION,
        backends: vec![description()],
        device_memory: None,
        fills: vec![Fillable::Outputs],
    };
    said.write(&mut greeting)?;
    seed("from_worker", "hello", &greeting)?;
    let mut hello = Vec::new();
    ToWorker::write_hello(&mut hello, PROTOCOL_VERSION, &[variant])?;
    seed("to_worker", "hello", &hello)?;
    for (index, case) in generated(CASES).enumerate() {
        let task = Task::of(&case)?.observing(vec!["y".to_owned()]);
        let mut bytes = hello.clone();
        ToWorker::write_case(&mut bytes, &task, &[0])?;
        seed("to_worker", &format!("case-{index}"), &bytes)?;
        seed("from_worker", &format!("answer-{index}"), &[greeting.clone(), answer(&case, &task)?].concat())?;
    }
    Ok(())
}

/// A backend with a few conditions in its capabilities.
fn description() -> Description {
    let rule = |refuses| Capability {
        rule: "rule".to_owned(),
        source: "nowhere".to_owned(),
        refuses,
        shows: twinfer_case::Refusal::default(),
    };
    let conditions = vec![
        Condition::All(vec![Condition::Operator("Conv".to_owned()), Condition::Dilated]),
        Condition::Any(vec![Condition::SpatialRank(3), Condition::Dtype(DataType::Float16)]),
        Condition::ChannelsPerGroupNotMultipleOf(4),
        Condition::PadsAtLeastKernel,
        Condition::KernelScalesOffOutputChannels,
        Condition::QuantizedAs(DataType::Uint8),
    ];
    Description {
        capabilities: conditions.into_iter().map(rule).collect(),
        ..Description::new("backend", "1.2.3", Stage::Execute)
    }
}

/// The observation of a backend that agrees with golden on a case.
fn answer(case: &Case, task: &Task) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    FromWorker::Stage { hash: task.hash, variant: 0, stage: Stage::Parse }.write(&mut bytes)?;
    let references = task.runs.iter().filter_map(|inputs| evaluate(&case.graph, inputs).ok());
    let run = |reference: twinfer_golden::Evaluation| {
        let outputs = reference.outputs.iter().map(twinfer_golden::Reference::to_tensor);
        outputs.collect::<Result<_, _>>().map(|outputs| RunOutput { outputs, intermediates: Vec::new() })
    };
    let observation = Observation {
        stage: Stage::Execute,
        outcome: Outcome::Ok,
        inferred_shapes: None,
        runs: references.map(run).collect::<Result<_, _>>()?,
        precision: None,
        algorithms: None,
        log: Vec::new(),
        timings: Vec::new(),
        out_of_bounds: Vec::new(),
        output_filling: Some(OutputFilling::default()),
    };
    FromWorker::Answer { hash: task.hash, variant: 0, observation, last: false }.write(&mut bytes)?;
    Ok(bytes)
}

fn configurations() -> Done {
    let file = "backends = \"golden,ort:cpu,opt=off,trt,version=8.6,level=0\"\nfamilies = [\"conv\", \"deconv\"]\n\
                seed = 20261120\njobs = 2\ndevices = \"0,1\"\nbudget = { time = \"8h\" }\n\n[[known]]\n\
                finding = \"trt-parse-rejects-valid-conv-no-kernel_shape-ed45f8ed\"\nreason = \"reported\"\n\
                upstream = \"https://example.org/1\"\nversions = \">=8.5, <10\"\nreview = 2027-03-01\n";
    let options = [
        "golden,ort:cpu,opt=off,trt-rtx",
        "trt,version=8.6,level=0",
        "external:./a.py --b=c",
        "90s",
        "0/4",
        ">=8.5, <9",
    ];
    for (index, option) in options.into_iter().enumerate() {
        seed("configuration", &format!("option-{index}"), format!("{option}\n{file}").as_bytes())?;
    }
    seed("configuration", "cases", b"8h\nbudget = { cases = 40 }\n")
}

/// The stored findings.
fn findings() -> Done {
    for folder in stored()? {
        let mut files = Vec::new();
        for name in [
            "case.json",
            "finding.json",
            "finding.snap",
            "model.onnx",
            "preceding/0000.json",
            "test_data_set_0/input_0.pb",
        ] {
            files.extend(fs::read(folder.join(name)).map(|contents| (format!("finding/{name}"), contents)));
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let observed = folder.with_file_name(format!("{name}.observed.json"));
        files.extend(fs::read(observed).map(|contents| ("finding.observed.json".to_owned(), contents)));
        let files = files.iter().map(|(name, contents)| (name.as_str(), contents.as_slice()));
        seed("case", &name, &joined(files))?;
    }
    for (index, case) in generated(CASES / 4).enumerate() {
        let case = serde_json::to_vec(&case)?;
        seed("case", &format!("generated-{index}"), &joined([("finding/case.json", case.as_slice())]))?;
    }
    Ok(())
}

/// The folders of the stored findings, by name.
fn stored() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(root().join("../golden/cases"))?;
    let is_finding = |path: &PathBuf| path.join("finding.json").is_file();
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_finding).collect();
    folders.sort();
    Ok(folders)
}

/// Runs with a stored finding each, and records of all verdicts.
fn runs() -> Done {
    let variant: Variant = "ort:cpu".parse()?;
    let run = RunInfo {
        ladder: None,
        format: SEED_FORMAT,
        id: String::new(),
        twinfer: env!("CARGO_PKG_VERSION").to_owned(),
        distribution: Distribution::Baseline,
        seed: 1,
        checked: None,
        families: vec!["conv".to_owned()],
        budget: Budget::Cases(9),
        shard: Shard::WHOLE,
        jobs: 2,
        variants: vec![VariantInfo { variant: variant.clone(), description: description(), rung_of: None }],
        libraries: Vec::new(),
        machine: Machine { os: "linux".to_owned(), arch: "x86_64".to_owned(), cores: 2 },
        workforce: Vec::new(),
        processor: None,
        totals: None,
        recognized: Vec::new(),
        end: Some(RunEnd::Complete),
        started: 1_790_000_000,
        settings: None,
        merged: Vec::new(),
        resumed: Vec::new(),
        journal: None,
        revisited: None,
    };
    let run = serde_json::to_vec_pretty(&run)?;
    for (index, folder) in stored()?.iter().enumerate().filter(|(index, _)| index % 8 == 0) {
        let slug = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let journal = journal(&variant, &slug)?;
        let (finding, case) = (fs::read(folder.join("finding.json"))?, fs::read(folder.join("case.json"))?);
        let files: [(&str, &[u8]); 5] = [
            ("run/run.json", &run),
            ("run/journal.jsonl", &journal),
            ("run/findings/a/finding.json", &finding),
            ("run/findings/a/case.json", &case),
            ("run/revisited.jsonl", &journal),
        ];
        seed("run_directory", &format!("run-{index}"), &joined(files))?;
    }
    Ok(())
}

/// The last format without checksums: a line that the fuzzer changes would be refused in later ones before it is read.
const SEED_FORMAT: u32 = 3;

fn journal(variant: &Variant, slug: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let divergence = Divergence::new(
        variant.clone(),
        Stage::Execute,
        Kind::WrongValues,
        Blame::Variant,
        "1 of 2 elements differ".to_owned(),
    );
    let verdicts = [
        Verdict::Conforms,
        Verdict::Vacuous,
        Verdict::LeftOut("Conv where group > 1".to_owned()),
        Verdict::Unsupported("rule".to_owned()),
        Verdict::Unspecified("rule".to_owned()),
        Verdict::NoReference("golden does not support the operator Foo".to_owned()),
        Verdict::Diverges(vec![divergence]),
    ];
    let mut journal = Vec::new();
    for (verdict, case) in verdicts.into_iter().zip(generated(2)) {
        let record = CaseRecord {
            format: SEED_FORMAT,
            index: case.provenance.as_ref().map_or(0, |provenance| provenance.index),
            case: case.hash()?,
            provenance: case.provenance,
            findings: if matches!(verdict, Verdict::Diverges(_)) {
                vec![slug.to_owned()]
            } else {
                Vec::new()
            },
            masks: Vec::new(),
            reduced: Vec::new(),
            waits: false,
            open: Vec::new(),
            variants: vec![VariantRecord {
                variant: variant.clone(),
                stage: Stage::Execute,
                outcome: Some(Outcome::Ok),
                verdict,
                notes: vec![Note::BoundUsed(0.5), Note::Placement("Conv".to_owned())],
                compared: true,
                timings: Vec::new(),
            }],
            macs: 9,
        };
        serde_json::to_writer(&mut journal, &record)?;
        journal.push(b'\n');
    }
    Ok(journal)
}
