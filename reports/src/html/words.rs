//! The words of the page for what other formats abbreviate.

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
    use super::short;

    #[test]
    fn long_commands_keep_their_start_and_end() {
        assert_eq!(short("ort:cpu"), "ort:cpu");
        let name = short("external:python3 /a/long/folder/with/adapter.py --bug 17");
        assert_eq!(name, "external:…th/adapter.py --bug 17");
    }
}
