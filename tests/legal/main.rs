//! Golden accuses no legal implementation of ONNX: those of `tests/adapters/legal` are written in numpy and know nothing of golden.
//!
//! `TWINFER_LEGAL_CASES` asks for so many cases on each instead of 40, and `TWINFER_RESULTS` names a folder for the table.

use std::{env, fmt::Write as _, fs, path::Path};

use twinfer_case::{Note, VariantRecord, Verdict};
use twinfer_generators::Family;
use twinfer_prerequisites::has_python_with;
use twinfer_store::{Records, read_run};
use twinfer_tests::{Twinfer, executable, no_findings};

const SEED: u64 = 23;

/// The ways in which the adapter computes, with a description of each.
const WAYS: [(&str, &str); 12] = [
    ("in-order", "sums from the first term to the last, then the bias"),
    ("in-reverse", "sums from the last term to the first, on top of the bias"),
    ("pairwise", "sums of sums of neighbors"),
    ("in-blocks", "four partial sums, and their sum"),
    ("fused", "products that are added without being rounded, as by fused multiply-add"),
    ("in-double", "sums in 64-bit floats, rounded once"),
    ("normalization-folded", "BatchNormalization folded into weights and bias"),
    ("integer-kernels", "sums of the integers of dequantized operands, scaled once"),
    ("reciprocal-scales", "quantizers that multiply and divide by the reciprocal of the scale"),
    ("winograd-2", "Winograd's algorithm, two outputs per tile and axis"),
    ("winograd-4", "Winograd's algorithm, four outputs per tile and axis"),
    ("fourier", "the fast Fourier transform in 32-bit floats"),
];

/// What the cases on one implementation come to.
#[derive(Default)]
struct Tally {
    cases: u64,
    conforms: u64,
    vacuous: u64,
    unspecified: u64,
    diverges: u64,
    /// The largest share of its bound that a conforming output used.
    bound_used: f64,
}

#[test]
fn legal_implementations_conform() {
    if !has_python_with("numpy, onnx, onnxruntime") {
        return;
    }
    let count = env::var("TWINFER_LEGAL_CASES").ok().map(|count| count.parse().expect("a number of cases"));
    let count = count.unwrap_or(40);
    let tallies = fuzz(&WAYS.map(|(way, _)| way), count);
    let text = page(count, &tallies);
    println!("{text}");
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        fs::write(folder.join("legal-implementations.md"), &text).expect("the results folder can be written");
    }
    for ((way, _), tally) in WAYS.iter().zip(&tallies) {
        assert_eq!((tally.cases, tally.diverges), (count, 0), "{way}\n{text}");
        assert!(tally.conforms * 10 > count * 9, "{way} is hardly compared\n{text}");
    }
}

#[test]
fn transforms_that_are_not_stated_are_accused() {
    if !has_python_with("numpy, onnx, onnxruntime") {
        return;
    }
    let ways = ["winograd-4 --stated direct", "fourier --stated direct"];
    for (way, tally) in ways.iter().zip(fuzz(&ways, 60)) {
        assert!(tally.diverges > 0, "{way} transforms nothing");
    }
}

/// What a campaign over all valid families comes to on the adapter, with each of these arguments.
fn fuzz(ways: &[&str], count: u64) -> Vec<Tally> {
    let out = tempfile::tempdir().expect("a temporary folder");
    let out = out.path().join("run");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/legal_adapter.py");
    let backends = ways.iter().map(|way| format!(",external:python3 {} {way}", script.display()));
    let backends = format!("golden{}", backends.collect::<String>());
    let (folder, count, seed) = (out.to_str().expect("a path in UTF-8"), count.to_string(), SEED.to_string());
    let families = Family::VALID.map(Family::name).join(",");
    let campaign =
        ["fuzz", "--backends", &backends, "--family", &families, "--cases", &count, "--seed", &seed];
    // the adapter has the operators of this distribution
    let distribution = ["--distribution", "baseline"];
    let settings = ["--no-minimize", "--jobs", "1", "--known", no_findings(), "--out", folder];
    let program = executable(env!("CARGO_BIN_EXE_twinfer-under-test"));
    let outcome = Twinfer::new(program, &[&campaign[..], &distribution, &settings].concat()).run();
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
    let run = read_run(&out).expect("a campaign keeps its run");
    let mut tallies: Vec<_> = ways.iter().map(|_| Tally::default()).collect();
    for record in Records::open(&out, &run).expect("a campaign keeps a journal") {
        let record = record.expect("a whole record");
        assert_eq!(record.variants.len(), ways.len());
        for (tally, variant) in tallies.iter_mut().zip(&record.variants) {
            tally.take(variant);
        }
    }
    tallies
}

impl Tally {
    fn take(&mut self, record: &VariantRecord) {
        self.cases += 1;
        *match &record.verdict {
            Verdict::Conforms => &mut self.conforms,
            Verdict::LeftOut(condition) => panic!("cases hang: {condition}"),
            Verdict::Vacuous => &mut self.vacuous,
            Verdict::NoReference(reason) => panic!("golden computes no reference: {reason}"),
            Verdict::Unspecified(_) => &mut self.unspecified,
            Verdict::Unsupported(_) | Verdict::Diverges(_) => &mut self.diverges,
        } += 1;
        for divergence in record.verdict.divergences() {
            eprintln!("{}: {}: {}", record.variant, divergence.kind, divergence.detail);
        }
        for note in &record.notes {
            if let Note::BoundUsed(share) = note {
                self.bound_used = self.bound_used.max(*share);
            }
        }
    }
}

fn page(count: u64, tallies: &[Tally]) -> String {
    let mut text = format!(
        "# Legal implementations\n\n\
         {count} cases of all valid families in the distribution `baseline`, seed {SEED}, on each of these implementations in numpy (`tests/adapters/legal`). They know \
         nothing of golden, and all of their results are legal. Golden accuses none. Winograd's algorithm and the Fourier transform run where \
         strides and dilations are 1, and are stated (`algorithms: any`); all others state direct sums in 32-bit floats. To write this table \
         again: `.ci/full legal`.\n\n\
         | implementation | of what | cases | conforms | vacuous | unspecified | differs | largest share of a bound used |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for ((way, what), tally) in WAYS.iter().zip(tallies) {
        let Tally { cases, conforms, vacuous, unspecified, diverges, bound_used } = tally;
        writeln!(
            text,
            "| `{way}` | {what} | {cases} | {conforms} | {vacuous} | {unspecified} | {diverges} | {bound_used:.2} |"
        )
        .expect("a string takes it");
    }
    text
}
