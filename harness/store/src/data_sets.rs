//! Folders of tensors in the layout of ONNX's backend tests.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::names::DATA_SET;

/// The folders `test_data_set_0`, `test_data_set_1`, … in `folder`, in the order of their numbers, some of which may be missing.
pub fn data_sets(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut numbered = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(DATA_SET)?.parse::<u64>().ok());
        numbered.extend(number.map(|number| (number, entry.path())));
    }
    numbered.sort_unstable();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_sets_come_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["test_data_set_10", "test_data_set_2", "test_data_set_0", "test_data_set_x", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let sets = data_sets(folder.path()).unwrap();
        let names: Vec<_> = sets.iter().map(|set| set.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["test_data_set_0", "test_data_set_2", "test_data_set_10"]);
    }
}
