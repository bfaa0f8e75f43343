use std::{fs, path::PathBuf};

use clap::Args;
use twinfer_case::Event;

use crate::{Exit, Failure, paint, single::Single, stored::StoredFinding, variants::Variants};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a finding
    finding: PathBuf,
    /// Other backends than the ones that showed it
    #[arg(long, value_name = "A,B")]
    backends: Option<Variants>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let recorded = StoredFinding::read(&arguments.finding)?;
    if !recorded.finding.preceding.is_empty() {
        return Err(Failure::usage(format!(
            "{} shows only after {} other cases, which replay does not run: give its campaign's seed to `twinfer fuzz`",
            arguments.finding.display(),
            recorded.finding.preceding.len()
        )));
    }
    let variants = arguments.backends.as_ref().map_or_else(|| recorded.variants(), Variants::subjects);
    let observed = observe(&recorded, variants)?;
    print!("{}", body(observed.as_deref().unwrap_or("conforms\n")));
    if observed.as_deref() == Some(recorded.snapshot.as_str()) {
        eprintln!("{} what was recorded recurs", paint::good("same:"));
        return Ok(Exit::Conforms);
    }
    eprintln!("{} recorded was\n{}", paint::bad("different:"), body(&recorded.snapshot));
    Ok(Exit::Findings)
}

/// The snapshot of what the case shows now, if it diverges at all.
fn observe(
    recorded: &StoredFinding,
    variants: Vec<twinfer_case::Variant>,
) -> Result<Option<String>, Failure> {
    let out = tempfile::tempdir().map_err(Failure::environment)?;
    let cases = vec![recorded.case.clone()];
    let mut slugs = Vec::new();
    Single { cases, variants, minimize: false, out: out.path().to_owned() }.run(&mut |event| {
        if let Event::FindingRecorded { slug, .. } = event {
            slugs.push(slug.clone());
        }
    })?;
    let wanted = recorded.finding.signature.slug();
    let slug = slugs.iter().find(|slug| **slug == wanted).or(slugs.first());
    let read =
        |slug: &String| fs::read_to_string(out.path().join("findings").join(slug).join("finding.snap"));
    slug.map(read).transpose().map_err(Failure::environment)
}

/// A snapshot without the head that belongs to the snapshot tool.
fn body(snapshot: &str) -> &str {
    snapshot
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("---\n"))
        .map_or(snapshot, |(_, body)| body)
}
