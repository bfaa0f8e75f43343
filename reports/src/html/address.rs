//! Identifiers and addresses in the page, made of names that others chose.

use std::path::{Component, Path};

/// The identifier of a finding in the page.
pub fn id(slug: &str) -> String {
    format!("finding-{slug}")
}

/// The address of a finding within the page.
pub fn within_page(slug: &str) -> String {
    format!("#{}", encoded(&id(slug)))
}

/// The address of the file at `path`, relative to the folder of the page unless it is absolute. It never names a scheme or a host.
pub fn of_file(path: &Path) -> String {
    let parts = path.components().filter_map(|component| match component {
        Component::RootDir => Some(String::new()),
        Component::ParentDir => Some("..".to_owned()),
        Component::Normal(name) => Some(encoded(&name.to_string_lossy())),
        Component::CurDir | Component::Prefix(_) => None,
    });
    let address = parts.collect::<Vec<_>>().join("/");
    if address.is_empty() { ".".to_owned() } else { address }
}

/// `text` with everything percent-encoded that has a meaning in an address.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{of_file, within_page};

    #[test]
    fn addresses_name_no_scheme() {
        assert_eq!(of_file(Path::new("javascript:alert(1)/a b")), "javascript%3Aalert%281%29/a%20b");
        assert_eq!(of_file(Path::new("../runs/./1?x#y")), "../runs/1%3Fx%23y");
        assert_eq!(of_file(Path::new("/tmp/run")), "/tmp/run");
        assert_eq!(of_file(Path::new("")), ".");
        assert_eq!(within_page("a\"b"), "#finding-a%22b");
    }
}
