/// Quotes a word for a POSIX shell if it needs quotes.
///
/// ```
/// assert_eq!(twinfer_reports::shell_word("runs/0001"), "runs/0001");
/// assert_eq!(twinfer_reports::shell_word("a'b c"), r"'a'\''b c'");
/// ```
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
