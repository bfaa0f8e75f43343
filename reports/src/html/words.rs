//! The words of the page for what other formats abbreviate.

use twinfer_case::Finding;

use super::number::number;
use crate::findings;

/// What is wrong, in one line.
pub fn detail(finding: &Finding) -> String {
    plain(findings::detail(finding))
}

/// `detail` without the words that only golden uses: recordings call the spacing of exact results a grid step.
fn plain(detail: &str) -> String {
    let Some((start, rest)) = detail.split_once(STEP) else { return detail.to_owned() };
    let end = rest.find([')', ',', ';', ' ']).unwrap_or(rest.len());
    let step = rest[..end].parse().map_or_else(|_| rest[..end].to_owned(), number);
    format!("{start}exact results are multiples of {step}{}", plain(&rest[end..]))
}

/// What introduces the spacing of exact results in recordings.
const STEP: &str = "grid step ";

/// A backend's name in at most [`WIDEST`] characters; what is beyond is left out of the middle of a command.
pub fn short(backend: &str) -> String {
    let length = backend.chars().count();
    if length <= WIDEST {
        return backend.to_owned();
    }
    let (start, end) = (backend.chars().take(HEAD), backend.chars().skip(length + HEAD + 1 - WIDEST));
    start.chain(['…']).chain(end).collect()
}

/// The most characters of a backend's name in a table.
const WIDEST: usize = 32;

/// The characters in front of what is left out.
const HEAD: usize = 9;

#[cfg(test)]
mod tests {
    use super::{plain, short};

    #[test]
    fn spacing_of_exact_results_is_said_in_plain_words() {
        let detail = "at [0] 1 instead of 0 (1 quantization step, grid step 5e-1), and";
        assert_eq!(
            plain(detail),
            "at [0] 1 instead of 0 (1 quantization step, exact results are multiples of 0.5), and"
        );
        assert_eq!(plain("refused"), "refused");
    }

    #[test]
    fn long_commands_keep_their_start_and_end() {
        assert_eq!(short("ort:cpu"), "ort:cpu");
        let name = short("external:python3 /a/long/folder/with/adapter.py --bug 17");
        assert_eq!(name, "external:…th/adapter.py --bug 17");
    }
}
