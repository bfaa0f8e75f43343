//! Source files as syntax trees, without tests and documentation.

use std::{fs, path::Path};

use syn::{Attribute, Item, visit_mut::VisitMut};

/// A source file of a crate.
pub struct Source {
    /// The path in the crate's `src`, such as `journal.rs`.
    pub file: String,
    /// The module that the file defines, such as `["comparison", "findings"]`; empty for the root of the crate.
    pub module: Vec<String>,
    /// The contents, without items for tests alone and without doc comments.
    pub syntax: syn::File,
}

/// The source files in the `src` folder of a crate, sorted.
pub fn sources(crate_folder: &Path) -> Vec<Source> {
    let src = crate_folder.join("src");
    let mut files = Vec::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let sources: Vec<_> = files.iter().map(|file| Source::read(&src, file)).collect();
    let is_test = |source: &Source| sources.iter().any(|other| other.declares_test(&source.module));
    let tests: Vec<_> = sources.iter().map(is_test).collect();
    sources
        .into_iter()
        .zip(tests)
        .filter(|(_, is_test)| !is_test)
        .map(|(source, _)| source.pruned())
        .collect()
}

impl Source {
    fn read(src: &Path, path: &Path) -> Self {
        let file = path.strip_prefix(src).unwrap().to_str().unwrap().to_owned();
        let syntax = syn::parse_file(&fs::read_to_string(path).unwrap());
        let syntax = syntax.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { module: module(&file), file, syntax }
    }

    /// Whether the file declares `module` as a child for tests alone.
    fn declares_test(&self, module: &[String]) -> bool {
        let Some((child, parent)) = module.split_last() else { return false };
        let mut items = self.syntax.items.iter();
        parent == self.module
            && items
                .any(|item| matches!(item, Item::Mod(item) if item.ident == child && is_test(&item.attrs)))
    }

    fn pruned(mut self) -> Self {
        Pruning.visit_file_mut(&mut self.syntax);
        self
    }
}

/// The module that a file of `src` defines.
fn module(file: &str) -> Vec<String> {
    let module = file.trim_end_matches(".rs");
    let module = module.strip_suffix("/mod").unwrap_or(module);
    match module {
        "lib" | "main" => Vec::new(),
        module => module.split('/').map(str::to_owned).collect(),
    }
}

/// Removes items for tests alone, and attributes, of which doc comments are some.
struct Pruning;

impl VisitMut for Pruning {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.items.retain(|item| !is_test(attributes(item)));
        syn::visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !is_test(attributes(item)));
        }
        syn::visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        item.items.retain(|item| !matches!(item, syn::ImplItem::Fn(function) if is_test(&function.attrs)));
        syn::visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.clear();
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item with these attributes is compiled for tests alone.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

#[test]
fn test_modules_and_comments_are_removed() {
    let text = "/// journal.jsonl\nfn kept() {}\n#[cfg(test)]\nmod tests { fn gone() {} }\n";
    let source = Source { file: String::new(), module: Vec::new(), syntax: syn::parse_file(text).unwrap() };
    let source = source.pruned();
    assert_eq!(source.syntax.items.len(), 1);
    assert!(attributes(&source.syntax.items[0]).is_empty());
}
