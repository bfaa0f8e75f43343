//! The message of a stage, which is sent several times a case: its header is written and read as text, without JSON.

use twinfer_case::{CaseHash, Stage};

const HASH: &str = r#"{"message":{"stage":{"hash":""#;
const VARIANT: &str = r#"","variant":"#;
const STAGE: &str = r#","stage":""#;
const END: &str = r#""}},"payload":[]}"#;

/// The header, byte by byte as it would be written as JSON.
pub fn header(hash: CaseHash, variant: usize, stage: Stage) -> String {
    format!("{HASH}{hash}{VARIANT}{variant}{STAGE}{stage}{END}")
}

/// What such a header says; `None` where it is any other, which may say the same in other words.
pub fn read_header(header: &[u8]) -> Option<(CaseHash, usize, Stage)> {
    let text = str::from_utf8(header).ok()?;
    let (hash, text) = text.strip_prefix(HASH)?.split_once(VARIANT)?;
    let (variant, text) = text.split_once(STAGE)?;
    let stage = text.strip_suffix(END)?;
    let [digit @ b'0'..=b'9'] = variant.as_bytes() else { return None };
    let stage = Stage::ALL.into_iter().find(|known| known.name() == stage)?;
    Some((hash.parse().ok()?, usize::from(digit - b'0'), stage))
}
