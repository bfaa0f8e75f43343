//! docs/semantics.md lists what the code lists: `TWINFER_UPDATE_DOCS=1 cargo test -p twinfer-golden` rewrites it.

use std::{env, fs, path::Path};

use twinfer_golden::{Explanation, rules};
use twinfer_onnx::{MAX_OPSET, MIN_OPSET, Rule};

const REGIMES: &str = include_str!("../src/regimes.md");

fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = "| --- ".repeat(COLUMNS) + "|\n";
    let head = line(&header.map(str::to_owned));
    rows.fold(head + &rule, |table, cells| table + &line(&cells.map(|cell| cell.replace('|', "\\|"))))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn page() -> String {
    let open =
        rules().iter().map(|entry| [code(entry.name), entry.summary.to_owned(), entry.source.to_owned()]);
    let valid = Rule::ALL
        .iter()
        .map(|rule| [code(rule.name()), rule.sentence().to_owned(), rule.source().to_owned()]);
    let explanations = Explanation::singles().chain(Explanation::combinations());
    let mutants = explanations.map(|explanation| [code(explanation.name), explanation.sentence.to_owned()]);
    format!(
        "# Semantics\n\n\
         What twinfer takes ONNX to say, for operator sets {MIN_OPSET} to {MAX_OPSET}. This page is written from the \
         code, which a test compares it with.\n\n\
         ## What ONNX leaves open\n\n\
         A graph that touches one of these points has no reference that every backend must meet: the verdict is \
         `unspecified`, with the name. Backends are still compared with each other.\n\n{}\n\
         ## How far a backend may be off\n\n{}\n\
         ## What makes a graph valid\n\n\
         A generated invalid graph breaks exactly one of these rules.\n\n{}\n\
         ## Mistakes made on purpose\n\n\
         Golden can be evaluated with one of these. In golden's place it must be noticed; where it reproduces a \
         backend's output it explains it.\n\n{}",
        table(["name", "what is open, and what golden does", "source"], open),
        REGIMES.replace("[`Agreement`]", "`Agreement` in golden/src/reference.rs"),
        table(["rule", "what it demands", "source"], valid),
        table(["name", "mistake"], mutants),
    )
}

#[test]
fn the_page_on_semantics_lists_what_the_code_lists() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/semantics.md");
    if env::var_os("TWINFER_UPDATE_DOCS").is_some() {
        fs::write(&path, page()).expect("docs can be written");
    }
    let written = fs::read_to_string(&path).expect("docs/semantics.md exists");
    assert!(
        written == page(),
        "docs/semantics.md is out of date: set TWINFER_UPDATE_DOCS=1 and run this test again"
    );
}
