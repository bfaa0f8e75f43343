//! Circles of imports between the files of a crate.

use std::collections::BTreeSet;

use crate::{
    crates::{Crate, crates},
    imports::imports,
    sources::{Source, sources},
};

/// The shortest circle through `start`: the files from `start` back to `start`. `None` if there is none.
fn circle(imports: &[BTreeSet<usize>], start: usize) -> Option<Vec<usize>> {
    let mut paths = vec![vec![start]];
    let mut reached = BTreeSet::new();
    while !paths.is_empty() {
        let mut longer = Vec::new();
        for path in paths {
            for &next in &imports[*path.last()?] {
                let path = [&path[..], &[next]].concat();
                if next == start {
                    return Some(path);
                }
                if reached.insert(next) {
                    longer.push(path);
                }
            }
        }
        paths = longer;
    }
    None
}

/// The shortest circle of every file that is in one, as a line of file names.
fn circles(sources: &[Source]) -> Vec<String> {
    let imports = imports(sources);
    let circles = (0..sources.len()).filter_map(|start| circle(&imports, start));
    let names = |path: Vec<usize>| path.iter().map(|&place| sources[place].file.as_str()).collect::<Vec<_>>();
    circles.map(|path| names(path).join(" → ")).collect()
}

#[test]
fn files_of_a_crate_import_each_other_in_one_direction() {
    let mut lines = Vec::new();
    for Crate { name, folder, .. } in crates() {
        lines.extend(circles(&sources(&folder)).into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(
        lines.is_empty(),
        "move what both sides use to a file that imports neither:\n{}",
        lines.join("\n")
    );
}

#[test]
fn circles_are_found_through_any_number_of_files() {
    let imports = [&[1, 3][..], &[2], &[0], &[]].map(|places| places.iter().copied().collect());
    assert_eq!(circle(&imports, 0), Some(vec![0, 1, 2, 0]));
    assert_eq!(circle(&imports, 3), None);
}
