use twinfer_case::{Description, Finding, FindingCount, RunInfo, VariantInfo};

use crate::{
    Report, ReportedFinding, ending, findings,
    headline::headline,
    issue, ladder,
    markup::{markdown_code, markdown_text},
    numbers::{capitalized, counted},
    poison, segments,
    summary::{budget, findings_title, left_out, sentence, verdicts},
    table::Table,
    uncompared,
};

pub(crate) fn render(report: &Report) -> String {
    let mut parts = vec![format!("# {}", markdown_text(&capitalized(&headline(report))))];
    parts.extend(uncompared(report));
    parts.push(format!("{}.", capitalized(&sentence(report))));
    parts
        .extend(ending::sentence(report).map(|early| format!("**{}**", markdown_text(&capitalized(&early)))));
    parts.extend(not_investigated(report));
    parts.extend(report.run.as_ref().map(origin));
    parts.extend(report.given_up.iter().map(|given_up| {
        let (device, reason) = (markdown_text(&given_up.device), markdown_text(&given_up.reason));
        format!(
            "Device {device} was disabled for {}: {reason}.",
            markdown_code(&given_up.variant.to_string())
        )
    }));
    parts.extend(left_out(report).map(|sentence| format!("{}.", markdown_text(&capitalized(&sentence)))));
    parts.push(table(&verdicts(report)));
    if let Some(title) = ladder::title(report) {
        parts.extend([format!("{}:", capitalized(&title)), table(&ladder::table(report))]);
    }
    if let Some(title) = poison::title(report) {
        parts.extend([format!("{}:", capitalized(&title)), table(&poison::table(report))]);
    }
    parts.extend(findings_title(report).map(|title| format!("## {}", capitalized(&title))));
    parts.extend(report.ranked().into_iter().map(|finding| one_finding(report, finding)));
    parts.extend(known_by_name(report));
    parts.extend(issues(report));
    parts.join("\n\n") + "\n"
}

fn origin(run: &RunInfo) -> String {
    let cases = match run.families.as_slice() {
        [] => run.checked.as_deref().map_or_else(|| "given cases".to_owned(), markdown_code),
        families => {
            let families = markdown_text(&families.join(", "));
            format!("families {families}, distribution {}, seed {}", run.distribution, run.seed)
        }
    };
    let backends = run.variants.iter().map(|info| {
        let Description { name, version, .. } = &info.description;
        let backend = markdown_text(&format!("{name} {version}{}", options(info)));
        format!("{} is {backend}", markdown_code(&info.variant.to_string()))
    });
    format!(
        "twinfer {}, {cases}, budget {}, {} on {} {} with {}; {}.",
        markdown_text(&run.twinfer),
        budget(run.budget),
        counted(run.jobs as u64, "job", "jobs"),
        markdown_text(&run.machine.os),
        markdown_text(&run.machine.arch),
        counted(run.machine.cores as u64, "core", "cores"),
        backends.collect::<Vec<_>>().join(", "),
    )
}

/// Options in parentheses, such as ` (level=3, tf32=off)`; empty if the backend has none.
fn options(info: &VariantInfo) -> String {
    let options: Vec<_> =
        info.description.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if options.is_empty() { String::new() } else { format!(" ({})", options.join(", ")) }
}

fn table(table: &Table) -> String {
    let row = |cells: &Vec<String>| {
        format!("| {} |", cells.iter().map(|cell| markdown_text(cell)).collect::<Vec<_>>().join(" | "))
    };
    let mut lines: Vec<String> = table.rows().iter().map(row).collect();
    let columns = table.rows().first().map_or(0, Vec::len);
    lines.insert(1.min(lines.len()), format!("|{}", " --- |".repeat(columns)));
    lines.join("\n")
}

/// What was not compared, and why; `None` if everything was compared.
fn uncompared(report: &Report) -> Option<String> {
    let lines: Vec<_> =
        uncompared::lines(report).iter().map(|line| format!("- {}", markdown_text(line))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Where cases are wrong that were not investigated; `None` if that is not known of any.
fn not_investigated(report: &Report) -> Option<String> {
    let variants = report.summary.variants.iter();
    let lines: Vec<_> = variants
        .flat_map(segments::open)
        .map(|place| format!("- not investigated: {}", markdown_text(&place)))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The findings that were known before, with the number of their cases; `None` if there are none.
fn known_by_name(report: &Report) -> Option<String> {
    let line = |FindingCount { slug, cases }: &FindingCount| {
        format!("- {}: {}", markdown_text(slug), counted(*cases, "case", "cases"))
    };
    let lines: Vec<_> = report.known_by_name().map(line).collect();
    (!lines.is_empty()).then(|| format!("## Known findings seen again\n\n{}", lines.join("\n")))
}

/// The known issues with their states; `None` if the project lists none.
fn issues(report: &Report) -> Option<String> {
    let descriptions = issue::descriptions(&report.issues);
    let lines: Vec<_> =
        descriptions.iter().map(|(word, what)| format!("- {word}: {}", markdown_text(what))).collect();
    (!lines.is_empty()).then(|| format!("## Known issues\n\n{}", lines.join("\n")))
}

fn one_finding(report: &Report, ReportedFinding { slug, new, finding }: &ReportedFinding) -> String {
    let mut lines = vec![
        format!("### {}{}", if *new { "" } else { "known: " }, markdown_text(slug)),
        String::new(),
        markdown_code(&finding.graph),
        String::new(),
        format!("- {}: {}", finding.kind, markdown_text(&findings::detail(finding))),
    ];
    lines.extend([String::new(), folded(&details(report, slug, finding))]);
    lines.join("\n")
}

/// Why it diverges, when, where it was seen and how large it is.
fn details(report: &Report, slug: &str, finding: &Finding) -> String {
    let reasons = findings::reasons(report, finding);
    let mut lines: Vec<_> =
        reasons.iter().map(|(word, sentence)| format!("- {word}: {}", markdown_text(sentence))).collect();
    lines.push(format!("- seen in {}", markdown_text(&findings::seen_in(finding))));
    lines.push(format!(
        "- {}; {}",
        counted(report.cases_of(slug), "case", "cases"),
        findings::sizes(finding)
    ));
    lines.join("\n")
}

/// Markdown that a page shows when it is asked to, where HTML is allowed in Markdown.
fn folded(details: &str) -> String {
    format!("<details><summary>Details</summary>\n\n{details}\n\n</details>")
}
