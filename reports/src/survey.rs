//! A table of verdicts: one row per case, one column per variant and version.

use serde::Serialize;
use twinfer_case::{BackendVersion, Diagnosis, Divergence, Ending, Stage, Topic, Variant, Verdict};

use crate::{
    Format,
    markup::{markdown_code, markdown_code_cell, markdown_link, markdown_text},
    numbers::short,
    page, reach,
    styled::{Styled, joined},
    table::Table,
    uncompared,
};

/// The version of the JSON form of a survey.
const SURVEY_FORMAT: u32 = 1;

/// The verdicts of several variants on the same cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// The version of the JSON form.
    pub format: u32,
    /// The variants, in the order of the answers.
    pub variants: Vec<SurveyedVariant>,
    /// The cases with the answers of each variant.
    pub cases: Vec<SurveyedCase>,
    /// Why variants were compared on none of the cases, one line per cause; empty if every variant was compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncompared: Vec<String>,
}

/// A variant with the version of its backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SurveyedVariant {
    /// The variant.
    pub variant: Variant,
    /// The backend's name for itself with its version.
    pub version: BackendVersion,
}

/// A case, the upstream report that it reproduces, and the answers of the variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyedCase {
    /// The name of its folder.
    pub name: String,
    /// The upstream report that the case reproduces, if any.
    pub topic: Option<Topic>,
    /// The graph on one line; `None` if the topic cannot be expressed as a case.
    pub graph: Option<String>,
    /// The result of golden: an output shape, or the rule that the case breaks.
    pub golden: String,
    /// One answer per variant, in order; `None` if the variant did not run the case.
    pub answers: Vec<Option<Answer>>,
}

/// The result of one variant on one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The last stage that the variant entered.
    pub stage: Stage,
    /// How that stage ended.
    pub ended: Ending,
    /// The verdict of the checks.
    pub verdict: Verdict,
}

impl Survey {
    /// A survey of these cases on these variants, each of which was compared.
    pub const fn new(variants: Vec<SurveyedVariant>, cases: Vec<SurveyedCase>) -> Self {
        Self { format: SURVEY_FORMAT, variants, cases, uncompared: Vec::new() }
    }

    /// Renders the survey; `None` for `JUnit` and HTML, which only a campaign report has.
    pub fn render(&self, format: Format) -> Option<String> {
        page::render(self, format, Self::terminal, Self::markdown)
    }

    fn terminal(&self) -> String {
        let mut table = Table::of_text(self.head("case", |surveyed| reach::name(&surveyed.variant)));
        for case in &self.cases {
            table.row(row(case, case.name.clone(), case.golden.clone(), |answer| answer.in_words(kinds)));
        }
        let mut lines = table.aligned("  ");
        lines.push(Styled::default());
        lines.extend(uncompared::titled(&uncompared::on_one_line(&self.uncompared)));
        for case in &self.cases {
            for (details, surveyed) in self.shared(case, details_on_terminal) {
                let variants: Vec<_> = surveyed.iter().map(|one| one.variant.to_string()).collect();
                lines.push(Styled::bold(&case.name) + " " + Styled::dim(variants.join(" · ")));
                lines.extend(details.iter().map(|line| Styled::plain(format!("      {line}"))));
            }
        }
        joined(&lines)
    }

    fn markdown(&self) -> String {
        let name = |surveyed: &SurveyedVariant| {
            format!(
                "{} {}",
                markdown_code_cell(&surveyed.variant.to_string()),
                markdown_text(&release(surveyed))
            )
        };
        let mut table = vec![self.head("reported", name)];
        for case in &self.cases {
            let answer = |answer: &Answer| markdown_text(&answer.in_words(explained_kinds));
            table.push(row(case, case_in_markdown(case), markdown_text(&case.golden), answer));
        }
        let columns = table[0].len();
        let mut lines: Vec<String> = table.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
        lines.insert(1, format!("|{}", " --- |".repeat(columns)));
        lines.extend(self.details());
        if !self.uncompared.is_empty() {
            lines.extend([String::new(), format!("### {}", uncompared::TITLE), String::new()]);
            lines.extend(
                uncompared::on_one_line(&self.uncompared)
                    .iter()
                    .map(|line| format!("- {}", markdown_text(line))),
            );
        }
        lines.join("\n") + "\n"
    }

    /// A list of divergences with their diagnoses, per case.
    fn details(&self) -> Vec<String> {
        let diverging = self.cases.iter().filter(|case| case.diverges());
        diverging.flat_map(|case| self.details_of(case)).collect()
    }

    /// The divergences of a case as `text` writes them; variants with the same divergence share it.
    fn shared<T: PartialEq>(
        &self,
        case: &SurveyedCase,
        text: fn(&Divergence) -> T,
    ) -> Vec<(T, Vec<&SurveyedVariant>)> {
        let mut shared: Vec<(T, Vec<&SurveyedVariant>)> = Vec::new();
        for (surveyed, answer) in self.variants.iter().zip(&case.answers) {
            for divergence in answer.iter().flat_map(Answer::divergences) {
                let what = text(divergence);
                match shared.iter_mut().find(|(known, _)| *known == what) {
                    Some((_, all)) => all.push(surveyed),
                    None => shared.push((what, vec![surveyed])),
                }
            }
        }
        shared
    }

    /// The divergences of a case; variants with the same divergence share a line.
    fn details_of(&self, case: &SurveyedCase) -> Vec<String> {
        let who = |surveyed: &SurveyedVariant| {
            let variant = markdown_code(&surveyed.variant.to_string());
            format!("{variant} {}", markdown_text(&release(surveyed)))
        };
        let mut lines = vec![String::new(), format!("### {}", markdown_text(&case.name)), String::new()];
        lines.extend(case.graph.iter().map(|graph| markdown_code(graph) + "\n"));
        for (what, surveyed) in self.shared(case, detail_in_markdown) {
            let variants: Vec<_> = surveyed.into_iter().map(who).collect();
            lines.push(format!("- {}: {what}", variants.join(", ")));
        }
        lines
    }

    fn head(&self, cases: &str, name: impl Fn(&SurveyedVariant) -> String) -> Vec<String> {
        let fixed = [cases.to_owned(), "golden".to_owned()];
        fixed.into_iter().chain(self.variants.iter().map(name)).collect()
    }
}

impl SurveyedCase {
    fn diverges(&self) -> bool {
        self.answers.iter().flatten().any(|answer| !answer.divergences().is_empty())
    }
}

/// The kind with the expected and observed results, the diagnosis, and the rule that documents it, one line each.
fn details_on_terminal(divergence: &Divergence) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", divergence.kind, short(&divergence.readable_detail()))];
    lines.extend(divergence.diagnosis.iter().map(|why| format!("because: {why}")));
    lines.extend(divergence.documented.iter().map(|rule| format!("documented: {rule}")));
    lines
}

/// The kind, the expected and observed results, and the diagnosis.
fn detail_in_markdown(divergence: &Divergence) -> String {
    let because = divergence.diagnosis.iter().map(|why| markdown_text(&format!("Because: {why}.")));
    let detail = markdown_text(&short(&divergence.readable_detail()));
    let sentences = [format!("{}: {detail}.", divergence.kind)].into_iter().chain(because);
    sentences.collect::<Vec<_>>().join(" ")
}

impl Answer {
    /// The divergences; empty for every other verdict.
    pub fn divergences(&self) -> &[Divergence] {
        match &self.verdict {
            Verdict::Diverges(divergences) => divergences,
            _ => &[],
        }
    }

    /// The text of a table cell: the verdict, with divergences as `in_words` writes them, and the last stage if that is not execute.
    fn in_words(&self, in_words: fn(&[Divergence]) -> String) -> String {
        let verdict = match &self.verdict {
            Verdict::Conforms => "conforms".to_owned(),
            Verdict::Vacuous => "undecided".to_owned(),
            Verdict::Unsupported(rule) => return format!("unsupported: {rule}"),
            Verdict::Unspecified(rule) => format!("unspecified: {rule}"),
            Verdict::NoReference(reason) => format!("without a reference: {reason}"),
            Verdict::LeftOut(condition) => return format!("left out: cases hang ({condition})"),
            Verdict::Diverges(divergences) => return in_words(divergences),
        };
        match (self.ended, self.stage) {
            (Ending::Ok, Stage::Execute) => verdict,
            (ended, stage) => format!("{verdict} ({})", ended.in_words(stage)),
        }
    }
}

/// The row of a case, with `word` as the text of each answer.
fn row(case: &SurveyedCase, name: String, golden: String, word: impl Fn(&Answer) -> String) -> Vec<String> {
    let cell = |answer: &Option<Answer>| answer.as_ref().map_or_else(|| "-".to_owned(), &word);
    [name, golden].into_iter().chain(case.answers.iter().map(cell)).collect()
}

/// Each kind of divergence once.
fn kinds(divergences: &[Divergence]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for kind in divergences.iter().map(|divergence| divergence.kind.to_string()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}

/// Each kind of divergence once, with the mutants that explain it.
fn explained_kinds(divergences: &[Divergence]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for divergence in divergences {
        let mutants: Vec<_> = divergence.diagnosis.iter().flat_map(Diagnosis::mutant_names).collect();
        let mut why = Vec::new();
        why.extend((!mutants.is_empty()).then(|| mutants.join(" or ")));
        why.extend(divergence.fallback.as_ref().map(|fallback| fallback.reason.to_string()));
        why.extend(divergence.documented.as_ref().map(|rule| format!("documented: {rule}")));
        let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(", ")) };
        let kind = format!("{}{why}", divergence.kind);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}

/// The case with the upstream report that it reproduces.
fn case_in_markdown(case: &SurveyedCase) -> String {
    let Some(topic) = &case.topic else { return markdown_text(&case.name) };
    let mut text = format!(
        "{}: {}. Reported in {}: {}. Expected: {}",
        markdown_link(&case.name, &topic.upstream),
        markdown_text(&topic.title),
        markdown_text(&topic.reported_in),
        topic.symptom,
        markdown_text(&topic.expects),
    );
    for note in topic.caveat.iter().chain(&topic.outside) {
        text.push(' ');
        text.push_str(&markdown_text(note));
    }
    text
}

/// The version number without the name of the backend.
fn release(surveyed: &SurveyedVariant) -> String {
    surveyed.version.version().to_owned()
}
