//! The option `--trust`, and the question that stands in for it on a terminal.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::Path,
};

use clap::Args;
use twinfer_case::{Trust, TrustedVariant, UntrustedVariant, Variant, printable_line};

use crate::Failure;

#[derive(Clone, Copy, Debug, Args)]
pub struct TrustArguments {
    /// Also run commands (external:CMD) and load libraries (lib=PATH) that a file names, not only those in --backends
    #[arg(long)]
    trust: bool,
}

impl TrustArguments {
    /// What the user vouches for: `given` on the command line, or everything.
    pub const fn with_given(self, given: &[TrustedVariant]) -> Trust<'_> {
        if self.trust { Trust::Everything } else { Trust::Given(given) }
    }

    /// The variants that the configuration `file` names. If some name code, asks on a terminal whether to run it.
    pub fn admit_configured(self, file: &Path, variants: &[Variant]) -> Result<Vec<TrustedVariant>, Failure> {
        let trust = self.with_given(&[]);
        let untrusted = variants.iter().filter_map(|variant| trust.admit(variant).err()).collect::<Vec<_>>();
        let Some(first) = untrusted.first() else { return admit_all(trust, variants) };
        let is_interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
        if is_interactive && is_confirmed(file, &untrusted, &mut io::stdin().lock(), &mut io::stderr()) {
            return admit_all(Trust::Everything, variants);
        }
        Err(Failure::usage(format!(
            "{}: {first}: if you trust the file, repeat with --trust, or name the backends with --backends",
            file.display()
        )))
    }
}

fn admit_all(trust: Trust<'_>, variants: &[Variant]) -> Result<Vec<TrustedVariant>, Failure> {
    variants.iter().map(|variant| trust.admit(variant)).collect::<Result<_, _>>().map_err(Failure::usage)
}

/// Prints what `file` would run and asks whether to do so. Anything but `y` or `yes`, and no answer, is a no.
fn is_confirmed(
    file: &Path,
    untrusted: &[UntrustedVariant],
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> bool {
    let mut question = || -> io::Result<String> {
        writeln!(output, "{} names code to run:", printable_line(&file.display().to_string()))?;
        untrusted.iter().try_for_each(|one| writeln!(output, "  {}", printable_line(&one.to_string())))?;
        write!(output, "Run it? [y/N] ")?;
        output.flush()?;
        let mut answer = String::new();
        input.read_line(&mut answer)?;
        Ok(answer)
    };
    question().is_ok_and(|answer| ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the answer is a yes, and what was printed.
    fn asked(answer: &str) -> (bool, String) {
        let variant: Variant = "external:touch /tmp/x".parse().unwrap();
        let untrusted = [Trust::Given(&[]).admit(&variant).unwrap_err()];
        let mut printed = Vec::new();
        let confirmed =
            is_confirmed(Path::new("twinfer.toml"), &untrusted, &mut answer.as_bytes(), &mut printed);
        (confirmed, String::from_utf8(printed).unwrap())
    }

    #[test]
    fn question_says_what_would_run() {
        assert_eq!(
            asked("").1,
            "twinfer.toml names code to run:\n  \
             \"external:touch /tmp/x\" would run the command \"touch /tmp/x\"\n\
             Run it? [y/N] "
        );
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        assert!(["y\n", "Yes\n"].iter().all(|answer| asked(answer).0));
        assert!(["", "\n", "n\n", "yesterday\n"].iter().all(|answer| !asked(answer).0));
    }
}
