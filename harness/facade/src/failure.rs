use std::fmt;

use twinfer_case::{Case, Divergence, printable};

/// The most lines of a failure.
const MOST_LINES: usize = 15;
/// The most characters of a line.
const MOST_CHARACTERS: usize = 200;

/// A case on which a variant diverges.
///
/// [`Display`](fmt::Display) writes at most 15 lines: what diverges, where and why, then the case in ONNX's text form, without its initializers if
/// it is too long. They hold no times or paths, so they can be kept as a snapshot.
#[derive(Clone, PartialEq)]
pub struct Failure {
    /// The case; what [`Conformance::check_all`](crate::Conformance::check_all) finds is as small as twinfer can make it.
    pub case: Case,
    /// What diverges on the case; never empty.
    pub divergences: Vec<Divergence>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self.divergences.iter().flat_map(lines_of).collect();
        lines.truncate(MOST_LINES / 2);
        lines.extend(case_lines(&self.case, MOST_LINES - lines.len()));
        let cut = lines.len().saturating_sub(MOST_LINES);
        if cut > 0 {
            lines.truncate(MOST_LINES - 1);
            lines.push(format!("… {} more lines", cut + 1));
        }
        let lines: Vec<_> = lines.iter().map(|line| shortened(&printable(line))).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// As [`Display`](fmt::Display) writes it.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn lines_of(divergence: &Divergence) -> Vec<String> {
    let Divergence { variant, stage, kind, .. } = divergence;
    let detail = divergence.readable_detail();
    let detail = detail.lines().next().unwrap_or_default();
    let mut lines = vec![format!("{variant} diverges in {stage}: {kind}: {detail}")];
    lines.extend(divergence.culprit.iter().map(|culprit| format!("culprit: {culprit}")));
    lines.extend(divergence.diagnosis.iter().map(|diagnosis| format!("because: {diagnosis}")));
    lines.extend(divergence.documented.iter().map(|rule| format!("documented by the backend: {rule}")));
    lines
}

/// The text form of a case, without its initializers if it has more than `most` lines.
fn case_lines(case: &Case, most: usize) -> Vec<String> {
    let text = case.to_string();
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let body = lines.iter().position(|line| line == "{");
    let weights = lines.iter().skip(1).position(|line| line.starts_with('<'));
    match (weights.map(|place| place + 1), body) {
        (Some(weights), Some(body)) if lines.len() > most && weights < body => {
            let number = case.graph.initializers.len();
            let left_out = format!("<{number} initializer{}>", if number == 1 { "" } else { "s" });
            [&lines[..weights], &[left_out], &lines[body..]].concat()
        }
        _ => lines,
    }
}

fn shortened(line: &str) -> String {
    if line.chars().count() <= MOST_CHARACTERS {
        return line.to_owned();
    }
    line.chars().take(MOST_CHARACTERS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Blame, Kind, Stage};
    use twinfer_generators::{Distribution, Family};

    use super::*;

    #[test]
    fn failure_has_few_short_lines_however_large_its_case() {
        let case = Family::Block.stream(Distribution::Full, 5).case(3);
        assert!(case.to_string().lines().count() > MOST_LINES, "{case}");
        let variant = "ort:cpu".parse().expect("a variant");
        let detail = format!("output 0 is \u{1b}[2Jwrong\n{}", "and ".repeat(100));
        let divergence = Divergence::new(variant, Stage::Execute, Kind::WrongValues, Blame::Variant, detail);
        let text = Failure { case, divergences: vec![divergence; 20] }.to_string();
        assert_eq!(text.lines().count(), MOST_LINES, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= MOST_CHARACTERS), "{text}");
        assert!(
            text.starts_with(r"ort:cpu diverges in execute: wrong-values: output 0 is \u{1b}[2Jwrong"),
            "{text}"
        );
        assert!(text.contains("\n<ir_version: ") && text.ends_with("more lines"), "{text}");
        assert!(text.contains(" initializers>\n{\n"), "its nodes say more than its weights: {text}");
    }
}
