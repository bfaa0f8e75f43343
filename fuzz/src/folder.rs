use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// The start of a line that names the file that follows.
const MARK: &str = "=== ";

/// A folder whose files are read from one input: one after the other, each after a line with its name.
///
/// Names that are not in `names` are ignored: an input decides the contents of files, never their paths.
pub struct Folder {
    root: TempDir,
    names: &'static [&'static str],
}

impl Folder {
    /// Creates an empty folder for files with these names.
    ///
    /// # Panics
    ///
    /// If the folder cannot be created.
    pub fn new(names: &'static [&'static str]) -> Self {
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self { root: root.expect("a temporary folder"), names }
    }

    /// Removes all files and writes those in `input`.
    ///
    /// # Panics
    ///
    /// If a file cannot be removed or written.
    pub fn fill(&self, input: &[u8]) {
        for entry in fs::read_dir(self.path()).expect("it is there").flatten() {
            let path = entry.path();
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.expect("it is ours");
        }
        for (name, contents) in self.files(input) {
            let path = self.path().join(name);
            fs::create_dir_all(path.parent().unwrap_or(self.path())).expect("it is ours");
            fs::write(path, contents).expect("it is ours");
        }
    }

    fn files<'a>(&self, input: &'a [u8]) -> Vec<(&'static str, &'a [u8])> {
        let mut files: Vec<(&'static str, &[u8])> = Vec::new();
        let (mut rest, mut begin) = (input, 0);
        loop {
            let line = rest.iter().position(|byte| *byte == b'\n').map_or(rest, |end| &rest[..=end]);
            let place = input.len() - rest.len();
            let named = line.strip_prefix(MARK.as_bytes()).map(<[u8]>::trim_ascii);
            let known = named.and_then(|name| self.names.iter().find(|known| known.as_bytes() == name));
            if known.is_some() || rest.is_empty() {
                if let Some((_, contents)) = files.last_mut() {
                    *contents = &input[begin..place];
                }
                begin = place + line.len();
            }
            if rest.is_empty() {
                return files;
            }
            files.extend(known.map(|known| (*known, &input[begin..begin])));
            rest = &rest[line.len()..];
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// All files and folders in the folder, as sorted relative paths.
    ///
    /// # Panics
    ///
    /// If a folder cannot be read.
    pub fn entries(&self) -> Vec<PathBuf> {
        let mut entries = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("it is there").flatten() {
                let path = entry.path();
                entries.extend(path.strip_prefix(self.path()).map(Path::to_owned));
                if path.is_dir() {
                    folders.push(path);
                }
            }
        }
        entries.sort();
        entries
    }
}

/// Encodes these files as one input.
pub fn joined<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut input = Vec::new();
    for (name, contents) in files {
        input.extend_from_slice(format!("{MARK}{name}\n").as_bytes());
        input.extend_from_slice(contents);
        input.extend((!contents.ends_with(b"\n")).then_some(b'\n'));
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_holds_only_the_files_of_its_input() {
        let folder = Folder::new(&["a.json", "b/c.json"]);
        let input =
            joined([("a.json", &b"one\ntwo\n"[..]), ("../d.json", b"in a.json"), ("b/c.json", b"three\n")]);
        folder.fill(&input);
        assert_eq!(folder.entries(), ["a.json", "b", "b/c.json"].map(PathBuf::from));
        let text = fs::read_to_string(folder.path().join("a.json")).unwrap();
        assert_eq!(text, "one\ntwo\n=== ../d.json\nin a.json\n");
        assert_eq!(fs::read_to_string(folder.path().join("b/c.json")).unwrap(), "three\n");
    }
}
