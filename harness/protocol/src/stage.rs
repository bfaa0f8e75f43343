//! The stage message, which is sent several times per case: its header is written and read as text, without JSON.

use std::io::{self, Write};

use twinfer_case::{CaseHash, Stage};

const HASH: &str = r#"{"message":{"stage":{"hash":""#;
const VARIANT: &str = r#"","variant":"#;
const STAGE: &str = r#","stage":""#;
const END: &str = r#""}},"payload":[]}"#;
/// The digits of a hash.
const DIGITS: usize = 64;

/// Writes the header with the same bytes as its JSON.
pub fn write_header(stream: &mut impl Write, hash: CaseHash, variant: usize, stage: Stage) -> io::Result<()> {
    write!(stream, "{HASH}{hash}{VARIANT}{variant}{STAGE}{stage}{END}")
}

/// The hash, variant and stage of a header that [`write_header`] wrote; `None` for any other, even if its JSON is equal.
pub fn read_header(header: &[u8]) -> Option<(CaseHash, usize, Stage)> {
    let (hash, header) = header.strip_prefix(HASH.as_bytes())?.split_at_checked(DIGITS)?;
    let (variant, header) = header.strip_prefix(VARIANT.as_bytes())?.split_first()?;
    let stage = header.strip_prefix(STAGE.as_bytes())?.strip_suffix(END.as_bytes())?;
    let digit @ b'0'..=b'9' = variant else { return None };
    let stage = Stage::ALL.into_iter().find(|known| known.name().as_bytes() == stage)?;
    Some((str::from_utf8(hash).ok()?.parse().ok()?, usize::from(digit - b'0'), stage))
}
