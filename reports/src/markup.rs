//! Foreign text in Markdown: it cannot change the structure of the page.

use twinfer_case::{printable, printable_line};

/// Text of a paragraph, a heading, a list item or a table cell.
pub fn markdown_text(text: &str) -> String {
    let line = printable_line(text);
    let mut escaped = String::with_capacity(line.len());
    for c in line.trim().chars() {
        if ESCAPED.contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// The characters that begin something in the middle of a line.
const ESCAPED: &str = r"\`*_[]<>|&~$#";

/// A code span in a paragraph, a heading or a list item.
pub fn markdown_code(text: &str) -> String {
    let line = printable_line(text);
    let fence = "`".repeat(longest_run(&line) + 1);
    // the spaces are not part of the code, but let it begin or end with a backtick
    if line.is_empty() || line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']) {
        format!("{fence} {line} {fence}")
    } else {
        format!("{fence}{line}{fence}")
    }
}

/// A code span in a table cell, which a bar would end.
pub(crate) fn markdown_code_cell(text: &str) -> String {
    markdown_code(text).replace('|', r"\|")
}

/// A block of code.
pub fn markdown_block(text: &str) -> String {
    let text = printable(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// A link to a page of the web; `text` alone if `url` is none.
pub(crate) fn markdown_link(text: &str, url: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() && !"<>()[]\\|`".contains(c);
    let is_page = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    let text = markdown_text(text);
    if is_page && url.chars().all(is_plain) { format!("[{text}]({url})") } else { text }
}

/// The length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_begins_nothing() {
        let escaped = markdown_text("# a|b `c` <d> [e](f) *g* _h_ \\ &lt; ~i~ $j$\n# k\u{1b}");
        assert_eq!(escaped, r"\# a\|b \`c\` \<d\> \[e\](f) \*g\* \_h\_ \\ \&lt; \~i\~ \$j\$ \# k\\u{1b}");
    }

    #[test]
    fn code_span_cannot_be_closed_from_inside() {
        assert_eq!(markdown_code("Conv"), "`Conv`");
        assert_eq!(markdown_code("a``b\nc"), "```a``b c```");
        assert_eq!(markdown_code("`"), "`` ` ``");
        assert_eq!(markdown_code_cell("a|b"), r"`a\|b`");
    }

    #[test]
    fn code_block_cannot_be_closed_from_inside() {
        assert_eq!(markdown_block("a\nb"), "```\na\nb\n```");
        assert_eq!(markdown_block("```\n# x"), "````\n```\n# x\n````");
    }

    #[test]
    fn only_pages_are_linked() {
        assert_eq!(markdown_link("a", "https://example.org/1"), "[a](https://example.org/1)");
        for url in ["javascript:alert(1)", "https://x) [y](z", "https://x\ny", ""] {
            assert_eq!(markdown_link("a", url), "a");
        }
    }
}
