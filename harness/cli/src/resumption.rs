//! How a run that ended early goes on: the command line that says so.

use std::{env, fmt, path::Path};

/// The command that goes on with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumption(String);

impl Resumption {
    /// What this process was started with, as it resumes the run in `out`.
    pub fn of_process(out: &Path) -> Self {
        Self::of(env::args_os().map(|word| word.to_string_lossy().into_owned()), out)
    }

    fn of(words: impl Iterator<Item = String>, out: &Path) -> Self {
        let mut words: Vec<_> = words.collect();
        let is_given =
            |option: &str| words.iter().any(|word| word == option || word.starts_with(&format!("{option}=")));
        let (has_out, resumes) = (is_given("--out"), is_given("--resume"));
        if !has_out {
            words.extend(["--out".to_owned(), out.to_string_lossy().into_owned()]);
        }
        if !resumes {
            words.push("--resume".to_owned());
        }
        Self(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Display for Resumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Resumption;

    fn resumption(words: &[&str]) -> String {
        Resumption::of(words.iter().map(|word| (*word).to_owned()), Path::new("runs/0001")).to_string()
    }

    #[test]
    fn a_run_in_a_folder_of_its_own_choice_is_named() {
        let go_on = resumption(&["twinfer", "fuzz", "--backends", "external:python3 a'b.py"]);
        assert_eq!(go_on, r"twinfer fuzz --backends 'external:python3 a'\''b.py' --out runs/0001 --resume");
    }

    #[test]
    fn what_the_command_line_says_is_not_said_again() {
        let go_on = resumption(&["twinfer", "fuzz", "--out=/x", "--cases", "7", "--resume"]);
        assert_eq!(go_on, "twinfer fuzz --out=/x --cases 7 --resume");
    }
}
