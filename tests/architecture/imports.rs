//! Which file of a crate imports which.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    ItemUse, UseTree, Visibility,
    visit::{self, Visit},
};

use crate::sources::Source;

/// The files that each file of a crate imports, by their places among the crate's sources.
///
/// An import counts for the file that defines the imported item: a re-export is followed to it, so that the root of a crate,
/// which re-exports most of its files, does not stand between them. A file imports what its `use` lines and its paths name. A
/// re-export counts as an import if the re-exporting file uses the item itself. A `mod` line is no import: a parent declares its
/// children and may use them, but a child that uses its parent at the same time is a circle.
pub fn imports(sources: &[Source]) -> Vec<BTreeSet<usize>> {
    let modules: BTreeMap<&[String], usize> =
        sources.iter().enumerate().map(|(place, source)| (source.module.as_slice(), place)).collect();
    let names: Vec<_> = sources.iter().map(|source| Names::of(source, &modules)).collect();
    let resolver = Resolver { modules, names: &names };
    let mut imports = Vec::new();
    for (place, names) in names.iter().enumerate() {
        let exported = names.exported.iter().filter(|(name, _)| names.used.contains(*name));
        let paths = names.paths.iter().chain(exported.map(|(_, path)| path));
        let mut imported: BTreeSet<_> = paths.filter_map(|path| resolver.file_of(path)).collect();
        imported.remove(&place);
        imports.push(imported);
    }
    imports
}

/// The names of a file that lead to other files of the crate. Paths start at the root of the crate.
#[derive(Default)]
struct Names {
    /// Private imports, and paths in code.
    paths: Vec<Vec<String>>,
    /// Re-exported items by name.
    exported: BTreeMap<String, Vec<String>>,
    /// Modules of which all items are re-exported.
    exported_modules: Vec<Vec<String>>,
    /// First segments of the paths in code.
    used: BTreeSet<String>,
}

/// Collects the names of a file.
struct Collector<'a> {
    modules: &'a BTreeMap<&'a [String], usize>,
    /// The module of the code that is visited.
    module: Vec<String>,
    names: Names,
}

struct Resolver<'a> {
    modules: BTreeMap<&'a [String], usize>,
    names: &'a [Names],
}

impl Names {
    fn of(source: &Source, modules: &BTreeMap<&[String], usize>) -> Self {
        let module = source.module.clone();
        let mut collector = Collector { modules, module, names: Self::default() };
        collector.visit_file(&source.syntax);
        collector.names
    }
}

impl Collector<'_> {
    /// The path from the root of the crate; `None` for a path into another crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut base = self.module.clone();
        match first.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                base.pop();
                let above = rest.iter().take_while(|segment| *segment == "super").count();
                base.truncate(base.len() - above);
                return Some([base, rest[above..].to_vec()].concat());
            }
            child => {
                base.push(child.to_owned());
                self.modules.contains_key(base.as_slice()).then_some(())?;
            }
        }
        Some([base, rest.to_vec()].concat())
    }

    fn import(&mut self, is_exported: bool, path: &[String], name: Option<String>) {
        let Some(path) = self.absolute(path) else { return };
        match (is_exported, name) {
            (true, Some(name)) => drop(self.names.exported.insert(name, path)),
            (true, None) => self.names.exported_modules.push(path),
            (false, _) => self.names.paths.push(path),
        }
    }

    fn import_tree(&mut self, is_exported: bool, prefix: &[String], tree: &UseTree) {
        let with = |segment: &syn::Ident| [prefix, &[segment.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import_tree(is_exported, &with(&path.ident), &path.tree),
            UseTree::Name(name) if name.ident == "self" => {
                self.import(is_exported, prefix, prefix.last().cloned());
            }
            UseTree::Name(name) => self.import(is_exported, &with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(name) => {
                self.import(is_exported, &with(&name.ident), Some(name.rename.to_string()));
            }
            UseTree::Glob(_) => self.import(is_exported, prefix, None),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import_tree(is_exported, prefix, tree));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_exported = !matches!(item.vis, Visibility::Inherited);
        self.import_tree(is_exported, &[], &item.tree);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.names.used.extend(segments.first().cloned());
        if segments.len() > 1 {
            self.import(false, &segments, None);
        }
        visit::visit_path(self, path);
    }
}

impl Resolver<'_> {
    /// The file that defines the item at `path`.
    fn file_of(&self, path: &[String]) -> Option<usize> {
        let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]))?;
        let place = self.modules[&path[..length]];
        let Some(item) = path.get(length) else { return Some(place) };
        let names = &self.names[place];
        if let Some(origin) = names.exported.get(item) {
            return self.file_of(origin);
        }
        let globs = names.exported_modules.iter().filter_map(|module| {
            let origin = self.file_of(module)?;
            self.names[origin].exported.get(item).and_then(|path| self.file_of(path))
        });
        globs.into_iter().next().or(Some(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(module: &str, text: &str) -> Source {
        let module = module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Source { file: String::new(), module, syntax: syn::parse_file(text).unwrap() }
    }

    #[test]
    fn imports_lead_to_the_file_that_defines_the_item() {
        let sources = [
            source("", "mod a; mod b; pub use a::{Item, Other as Renamed};"),
            source("a", "pub struct Item; pub struct Other;"),
            source("b", "mod c; use crate::Renamed; use std::fmt;"),
            source("b::c", "fn f() -> super::super::Item { super::helper() }"),
        ];
        let imports = imports(&sources);
        assert_eq!(imports, [&[][..], &[], &[1], &[1, 2]].map(|places| places.iter().copied().collect()));
    }

    #[test]
    fn re_exports_count_if_the_file_uses_the_item() {
        let parent = |code: &str| source("", &format!("mod child; pub use child::Item; {code}"));
        let child = || source("child", "pub struct Item;");
        assert!(imports(&[parent(""), child()])[0].is_empty());
        assert!(imports(&[parent("fn f(_: Item) {}"), child()])[0].contains(&1));
    }
}
