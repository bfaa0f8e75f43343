//! The table of crates in docs/architecture.md: which crate imports which.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    fs,
    path::Path,
};

use toml::{Table, Value};

use crate::{files, root};

const BEGIN: &str = "<!-- crates: begin -->\n";
const END: &str = "<!-- crates: end -->";

/// A member of the workspace, called by the name of its folder.
struct Member {
    lines: usize,
    imports: BTreeSet<String>,
}

fn manifest(folder: &Path) -> Table {
    fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap()
}

fn name(folder: &str) -> String {
    folder.rsplit('/').next().unwrap().to_owned()
}

/// The names of our crates, by what manifests call them.
fn ours(workspace: &Table) -> BTreeMap<String, String> {
    let dependencies = workspace["dependencies"].as_table().unwrap();
    let paths = dependencies.iter().filter_map(|(key, value)| Some((key, value.get("path")?.as_str()?)));
    paths.map(|(key, path)| (key.clone(), name(path))).collect()
}

/// Whether only a feature uses a dependency; features are for tests alone.
fn is_optional(dependency: &Value) -> bool {
    dependency.get("optional").and_then(Value::as_bool) == Some(true)
}

fn members() -> BTreeMap<String, Member> {
    let root = root();
    let manifests = manifest(&root);
    let workspace = manifests["workspace"].as_table().unwrap();
    let ours = ours(workspace);
    let folders = workspace["members"].as_array().unwrap().iter().map(|folder| folder.as_str().unwrap());
    folders
        .map(|folder| {
            let path = root.join(folder);
            let manifest = manifest(&path);
            let dependencies = manifest.get("dependencies").and_then(|it| it.as_table());
            let keys = dependencies
                .into_iter()
                .flatten()
                .filter(|(_, value)| !is_optional(value))
                .map(|(key, _)| key);
            let sources = files(&path.join("src"), "rs");
            let lines = sources.iter().map(|file| fs::read_to_string(file).unwrap().lines().count()).sum();
            (name(folder), Member { lines, imports: keys.filter_map(|key| ours.get(key).cloned()).collect() })
        })
        .collect()
}

/// The crates in an order in which each imports only those before it.
fn ordered(members: &BTreeMap<String, Member>) -> Vec<&String> {
    let mut order: Vec<&String> = Vec::new();
    while order.len() < members.len() {
        let next = members.iter().find(|(name, member)| {
            !order.contains(name) && member.imports.iter().all(|import| order.contains(&import))
        });
        order.push(next.unwrap().0);
    }
    order
}

fn table(members: &BTreeMap<String, Member>) -> String {
    let mut table = "| crate | lines | imports |\n| --- | ---: | --- |\n".to_owned();
    for name in ordered(members) {
        let Member { lines, imports } = &members[name];
        let imports: Vec<_> = imports.iter().map(|import| format!("`{import}`")).collect();
        writeln!(table, "| `{name}` | {lines} | {} |", imports.join(" ")).unwrap();
    }
    table
}

/// The table without the lines, which every change changes.
fn without_lines(table: &str) -> Vec<(&str, &str)> {
    let cells = |row: &'_ str| -> Option<(usize, usize)> {
        let second = row.match_indices('|').nth(1)?.0;
        Some((second, row.match_indices('|').nth(2)?.0))
    };
    table
        .lines()
        .filter_map(|row| cells(row).map(|(second, third)| (&row[..second], &row[third..])))
        .collect()
}

/// `TWINFER_UPDATE_DOCS=1` writes the table again.
#[test]
fn crates_import_only_what_the_architecture_lists() {
    let page = root().join("docs/architecture.md");
    let written = fs::read_to_string(&page).unwrap();
    let (before, rest) = written.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    let current = table(&members());
    if env::var_os("TWINFER_UPDATE_DOCS").is_some() {
        fs::write(&page, format!("{before}{BEGIN}{current}{END}{after}")).unwrap();
        return;
    }
    let (listed, current) = (without_lines(listed), without_lines(&current));
    assert_eq!(listed, current, "set TWINFER_UPDATE_DOCS=1 and run this test again");
}

#[test]
fn every_crate_has_a_sentence_in_the_architecture() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (sentences, _) = page.split_once(BEGIN).unwrap();
    let missing: Vec<_> =
        members().into_keys().filter(|name| !sentences.contains(&format!("| `{name}` |"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
