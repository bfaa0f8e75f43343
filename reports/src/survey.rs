//! What every variant does with each of several cases: one row a case, one column a variant and version.

use console::style;
use serde::Serialize;
use twinfer_case::{BackendVersion, Diagnosis, Divergence, Stage, Topic, Variant, Verdict};

use crate::{Format, markdown::escaped, numbers::short, page, table::Table};

/// The version of the JSON form of a survey.
const SURVEY_FORMAT: u32 = 1;

/// Answers to the same cases, side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// The version of this form.
    pub format: u32,
    /// Who answered, in the order of the answers.
    pub variants: Vec<Surveyed>,
    /// What was asked, with the answers.
    pub cases: Vec<SurveyedCase>,
}

/// A variant at a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Surveyed {
    /// Which variant.
    pub variant: Variant,
    /// The backend's name for itself with its version.
    pub version: BackendVersion,
}

/// A case with what it stands for and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyedCase {
    /// Its folder's name.
    pub name: String,
    /// What was reported, if it stands for a report.
    pub topic: Option<Topic>,
    /// The graph in one line; absent where no case holds it.
    pub graph: Option<String>,
    /// What golden says of it.
    pub golden: String,
    /// In the order of the variants; none where a variant was not asked.
    pub answers: Vec<Option<Answer>>,
}

/// What one variant made of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The deepest stage that it entered.
    pub stage: Stage,
    /// What the checks concluded.
    pub verdict: Verdict,
}

impl Survey {
    /// A survey of these.
    pub const fn new(variants: Vec<Surveyed>, cases: Vec<SurveyedCase>) -> Self {
        Self { format: SURVEY_FORMAT, variants, cases }
    }

    /// Writes it; none for the formats that only campaigns have.
    pub fn render(&self, format: Format) -> Option<String> {
        page::render(self, format, Self::terminal, Self::markdown)
    }

    fn terminal(&self) -> String {
        let mut table = Table::of_text(self.head("case", |surveyed| surveyed.variant.to_string()));
        for case in &self.cases {
            table.row(row(case, case.name.clone(), Answer::in_words));
        }
        let mut lines = table.aligned("  ");
        lines.push(String::new());
        for (case, surveyed, divergence) in self.divergences() {
            lines.push(format!("{} {}", style(&case.name).bold(), style(&surveyed.variant).dim()));
            lines.push(format!("      {}: {}", divergence.kind, short(&divergence.detail)));
            lines.extend(divergence.diagnosis.iter().map(|why| format!("      because: {why}")));
        }
        lines.join("\n") + "\n"
    }

    fn markdown(&self) -> String {
        let name = |surveyed: &Surveyed| format!("`{}` {}", surveyed.variant, escaped(&release(surveyed)));
        let mut table = vec![self.head("reported", name)];
        for case in &self.cases {
            table.push(row(case, case_in_markdown(case), |answer| escaped(&answer.in_words())));
        }
        let columns = table[0].len();
        let mut lines: Vec<String> = table.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
        lines.insert(1, format!("|{}", " --- |".repeat(columns)));
        lines.extend(self.details());
        lines.join("\n") + "\n"
    }

    /// What diverges and why, a list a case.
    fn details(&self) -> Vec<String> {
        let diverging = self.cases.iter().filter(|case| case.diverges());
        diverging.flat_map(|case| self.details_of(case)).collect()
    }

    /// Variants that show the same are told together.
    fn details_of(&self, case: &SurveyedCase) -> Vec<String> {
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        for (surveyed, divergence) in self.divergences_of(case) {
            let what = detail_in_markdown(divergence);
            let who = format!("`{}` {}", surveyed.variant, escaped(&release(surveyed)));
            match told.iter_mut().find(|(known, _)| *known == what) {
                Some((_, all)) => all.push(who),
                None => told.push((what, vec![who])),
            }
        }
        let mut lines = vec![String::new(), format!("### {}", case.name), String::new()];
        lines.extend(case.graph.iter().map(|graph| format!("`{graph}`\n")));
        lines.extend(told.into_iter().map(|(what, who)| format!("- {}: {what}", who.join(", "))));
        lines
    }

    fn head(&self, cases: &str, name: impl Fn(&Surveyed) -> String) -> Vec<String> {
        let fixed = [cases.to_owned(), "golden".to_owned()];
        fixed.into_iter().chain(self.variants.iter().map(name)).collect()
    }

    fn divergences(&self) -> impl Iterator<Item = (&SurveyedCase, &Surveyed, &Divergence)> {
        self.cases.iter().flat_map(|case| {
            let divergences = self.divergences_of(case);
            divergences.map(move |(surveyed, divergence)| (case, surveyed, divergence))
        })
    }

    fn divergences_of<'a>(
        &'a self,
        case: &'a SurveyedCase,
    ) -> impl Iterator<Item = (&'a Surveyed, &'a Divergence)> {
        let answers = self.variants.iter().zip(&case.answers);
        answers.flat_map(|(surveyed, answer)| {
            answer.iter().flat_map(Answer::divergences).map(move |divergence| (surveyed, divergence))
        })
    }
}

impl SurveyedCase {
    fn diverges(&self) -> bool {
        self.answers.iter().flatten().any(|answer| !answer.divergences().is_empty())
    }
}

/// The kind, what was expected and seen, and why.
fn detail_in_markdown(divergence: &Divergence) -> String {
    let because = divergence.diagnosis.as_ref().map(|why| format!(" Because: {why}.")).unwrap_or_default();
    let detail = escaped(&short(&divergence.detail));
    format!("{}: {detail}.{}", divergence.kind, escaped(&because))
}

impl Answer {
    /// What diverges; nothing for every other verdict.
    pub fn divergences(&self) -> &[Divergence] {
        match &self.verdict {
            Verdict::Diverges(divergences) => divergences,
            _ => &[],
        }
    }

    /// As a cell of a table: the verdict, and how far a variant went that does not execute.
    fn in_words(&self) -> String {
        let verdict = match &self.verdict {
            Verdict::Conforms => "conforms".to_owned(),
            Verdict::Vacuous => "vacuous".to_owned(),
            Verdict::Unsupported(rule) => return format!("unsupported: {rule}"),
            Verdict::Unspecified(rule) => format!("unspecified: {rule}"),
            Verdict::Diverges(divergences) => return kinds(divergences),
        };
        if self.stage == Stage::Execute { verdict } else { format!("{verdict} as far as {}", self.stage) }
    }
}

/// A case under the head of its survey, each answer by a word of it.
fn row(case: &SurveyedCase, name: String, word: impl Fn(&Answer) -> String) -> Vec<String> {
    let cell = |answer: &Option<Answer>| answer.as_ref().map_or_else(|| "-".to_owned(), &word);
    [name, case.golden.clone()].into_iter().chain(case.answers.iter().map(cell)).collect()
}

/// Each kind once, with the mutants that explain it.
fn kinds(divergences: &[Divergence]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for divergence in divergences {
        let mutants: Vec<_> = divergence.diagnosis.iter().flat_map(Diagnosis::mutants).collect();
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

/// The case and what it stands for.
fn case_in_markdown(case: &SurveyedCase) -> String {
    let Some(topic) = &case.topic else { return escaped(&case.name) };
    let mut text = format!(
        "[{}]({}): {}. Reported of {}: {}. Right is: {}",
        case.name,
        topic.upstream,
        escaped(&topic.title),
        escaped(&topic.reported_in),
        topic.symptom,
        escaped(&topic.expects),
    );
    for note in topic.caveat.iter().chain(&topic.outside) {
        text.push(' ');
        text.push_str(&escaped(note));
    }
    text
}

/// The version alone: the variant says which backend.
fn release(surveyed: &Surveyed) -> String {
    surveyed.version.version().to_owned()
}
