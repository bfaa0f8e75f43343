//! Wheels that tests make.

use std::{fs::File, io::Write, path::PathBuf};

use tempfile::TempDir;
use zip::{ZipWriter, write::SimpleFileOptions};

/// A wheel with these files, each a name with a text, in a folder of its own.
pub fn wheel_with(entries: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("package.whl");
    let mut wheel = ZipWriter::new(File::create(&path).unwrap());
    for (name, text) in entries {
        wheel.start_file(*name, SimpleFileOptions::default()).unwrap();
        wheel.write_all(text.as_bytes()).unwrap();
    }
    wheel.finish().unwrap();
    (folder, path)
}
