//! The command line that resumes a run.

use std::{env, fmt, path::Path};

use twinfer_case::{Budget, RunEnd, RunInfo, Shard, Trust};
use twinfer_configuration::Variants;
use twinfer_reports::{Report, shell_word};

/// The shell command that resumes a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumption(String);

impl Resumption {
    /// The command line of this process, with the options added that resume the run in `out`.
    pub fn of_process(out: &Path) -> Self {
        Self::of(env::args_os().map(|word| word.to_string_lossy().into_owned()), out)
    }

    /// The command line that resumes the stored run in `out`; `None` if it is complete, or is no campaign of its own: the cases
    /// were given, or it was merged.
    pub fn of_report(report: &Report, out: &Path) -> Option<Self> {
        let run = report.run.as_ref().filter(|run| !run.families.is_empty())?;
        match report.end {
            Some(RunEnd::Complete | RunEnd::Partial(_)) => None,
            Some(RunEnd::Interrupted | RunEnd::Failed(_)) | None => {
                Some(Self::of(Self::required(run).into_iter(), out))
            }
        }
    }

    /// The words that resume a run, without its folder. It records all settings, but a command or path among its backends has to be given
    /// again.
    fn required(run: &RunInfo) -> Vec<String> {
        let has_code = run.variants.iter().any(|info| Trust::Given(&[]).admit(&info.variant).is_err());
        let backends = has_code.then(|| ["--backends".to_owned(), backends(run)]);
        let words = ["twinfer", "fuzz"].map(str::to_owned).into_iter();
        words.chain(backends.into_iter().flatten()).collect()
    }

    /// The command line of a run, without its folder.
    fn words(run: &RunInfo) -> Vec<String> {
        let (budget, amount) = match run.budget {
            Budget::Cases(cases) => ("--cases", cases.to_string()),
            Budget::Seconds(seconds) => ("--time", format!("{seconds}s")),
        };
        let mut options = vec![
            ("--backends", backends(run)),
            ("--family", run.families.join(",")),
            ("--distribution", run.distribution.to_string()),
            ("--seed", run.seed.to_string()),
            (budget, amount),
        ];
        options.extend((run.shard != Shard::WHOLE).then(|| ("--shard", run.shard.to_string())));
        options.extend(run.ladder.map(|ladder| ("--ladder", ladder.to_string())));
        let known = run.settings.iter().flat_map(|settings| &settings.known);
        options.extend(known.map(|known| ("--known", known.folder.display().to_string())));
        let options = options.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
        ["twinfer".to_owned(), "fuzz".to_owned()].into_iter().chain(options).collect()
    }

    /// The command that makes the same run in a folder of its own; `None` if the cases were given.
    pub fn command_of(run: &RunInfo) -> Option<String> {
        let quoted =
            |words: Vec<String>| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        (!run.families.is_empty()).then(|| quoted(Self::words(run)))
    }

    fn of(words: impl Iterator<Item = String>, out: &Path) -> Self {
        let mut words: Vec<_> = words.collect();
        let is_given =
            |option: &str| words.iter().any(|word| word == option || word.starts_with(&format!("{option}=")));
        let (has_out, resumes) = (is_given("--out"), is_given("--resume") || is_given("--resume-or-start"));
        if !has_out {
            words.extend(["--out".to_owned(), out.to_string_lossy().into_owned()]);
        }
        if !resumes {
            words.push("--resume".to_owned());
        }
        Self(words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "))
    }
}

/// The variants of a run that run every case, as `--backends` takes them.
fn backends(run: &RunInfo) -> String {
    let bases = run.variants.iter().filter(|info| info.rung_of.is_none());
    Variants(bases.map(|info| info.variant.clone()).collect()).to_string()
}

impl fmt::Display for Resumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use twinfer_case::{Description, JOURNAL_FORMAT, RunInfo, Stage, VariantInfo};

    use super::Resumption;

    fn resumption(words: &[&str]) -> String {
        Resumption::of(words.iter().map(|word| (*word).to_owned()), Path::new("runs/0001")).to_string()
    }

    #[test]
    fn default_run_directory_is_added() {
        let command = resumption(&["twinfer", "fuzz", "--backends", "external:python3 a'b.py"]);
        assert_eq!(command, r"twinfer fuzz --backends 'external:python3 a'\''b.py' --out runs/0001 --resume");
    }

    #[test]
    fn only_code_has_to_be_named_again() {
        let words = |variant: &str| {
            let run = serde_json::json!({
                "format": JOURNAL_FORMAT, "twinfer": "1", "seed": 1, "families": ["conv"], "budget": {"cases": 9},
                "shard": [0, 1], "jobs": 1, "variants": [], "machine": {"os": "", "arch": "", "cores": 1}, "started": 0,
            });
            let mut run: RunInfo = serde_json::from_value(run).unwrap();
            let (variant, description) = (variant.parse().unwrap(), Description::new("", "", Stage::Execute));
            run.variants.push(VariantInfo { variant, description, rung_of: None });
            Resumption::required(&run)
        };
        assert_eq!(words("ort:cpu,opt=off"), ["twinfer", "fuzz"]);
        let external = "external:./adapter.py";
        assert_eq!(words(external), ["twinfer", "fuzz", "--backends", external]);
    }

    #[test]
    fn command_of_a_run_names_its_known_findings() {
        let run = serde_json::json!({
            "format": JOURNAL_FORMAT, "twinfer": "1", "seed": 1, "families": ["conv"], "budget": {"cases": 9},
            "shard": [0, 2], "jobs": 1, "variants": [], "machine": {"os": "", "arch": "", "cores": 1}, "started": 0,
            "settings": {"minimize": true, "repeat_every": 0, "fresh_every": 0, "deadlines": {}, "known": [{"folder": "my known", "findings": 1, "checksum": ""}]},
        });
        let command = Resumption::command_of(&serde_json::from_value(run).unwrap()).unwrap();
        assert!(command.ends_with("--cases 9 --shard 0/2 --known 'my known'"), "{command}");
    }

    #[test]
    fn given_options_are_not_repeated() {
        let command = resumption(&["twinfer", "fuzz", "--out=/x", "--cases", "7", "--resume"]);
        assert_eq!(command, "twinfer fuzz --out=/x --cases 7 --resume");
        let same = ["twinfer", "fuzz", "--out=/x", "--resume-or-start"];
        assert_eq!(resumption(&same), same.join(" "));
    }
}
