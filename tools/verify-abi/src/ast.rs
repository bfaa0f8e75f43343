//! clang's syntax tree, as `-ast-dump=json` writes it: only the kinds and fields that declarations need.
//!
//! The dump of the headers has a hundred megabytes, mostly function bodies and the standard library, which the
//! reader skips.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// A declaration in the syntax tree.
#[derive(Debug, Default)]
pub struct Node {
    pub kind: String,
    pub name: String,
    pub ty: Type,
    /// The access level, if the node is an access specifier.
    pub access: String,
    /// `class` or `struct`.
    pub tag: String,
    pub storage_class: String,
    pub is_definition: bool,
    pub is_implicit: bool,
    pub is_deleted: bool,
    pub bases: Vec<Base>,
    pub inner: Vec<Node>,
}

/// A base class.
#[derive(Debug, Deserialize)]
pub struct Base {
    #[serde(rename = "type")]
    pub ty: Type,
}

/// A type as C++ spells it.
#[derive(Debug, Default, Deserialize)]
pub struct Type {
    #[serde(rename = "qualType", default)]
    written: String,
    #[serde(rename = "desugaredQualType")]
    desugared: Option<String>,
}

impl Type {
    /// The type without aliases at its outermost level.
    pub fn canonical(&self) -> &str {
        self.desugared.as_deref().unwrap_or(&self.written)
    }
}

/// Kinds of nodes whose children are skipped.
fn is_leaf(node: &Node) -> bool {
    let is_declaration = node.kind.ends_with("Decl");
    let is_namespace_of_others =
        node.kind == "NamespaceDecl" && (node.name == "std" || node.name.starts_with("__"));
    !is_declaration || is_namespace_of_others || matches!(node.kind.as_str(), "VarDecl" | "ParmVarDecl")
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node of clang's syntax tree")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Node, M::Error> {
        let mut node = Node::default();
        // clang writes kind and name before the children
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "kind" => node.kind = map.next_value()?,
                "name" => node.name = map.next_value()?,
                "type" => node.ty = map.next_value()?,
                "access" => node.access = map.next_value()?,
                "tagUsed" => node.tag = map.next_value()?,
                "storageClass" => node.storage_class = map.next_value()?,
                "completeDefinition" => node.is_definition = map.next_value()?,
                "isImplicit" => node.is_implicit = map.next_value()?,
                "explicitlyDeleted" => node.is_deleted = map.next_value()?,
                "bases" => node.bases = map.next_value()?,
                "inner" if !is_leaf(&node) => node.inner = map.next_value::<Declarations>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(node)
    }
}

/// The declarations among the children of a node.
struct Declarations(Vec<Node>);

impl<'de> Deserialize<'de> for Declarations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(DeclarationsVisitor)
    }
}

struct DeclarationsVisitor;

impl<'de> Visitor<'de> for DeclarationsVisitor {
    type Value = Declarations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nodes of clang's syntax tree")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Declarations, S::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element::<Node>()? {
            if node.kind.ends_with("Decl") {
                nodes.push(node);
            }
        }
        Ok(Declarations(nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_and_the_standard_library_are_skipped() {
        let text = r#"{"kind": "TranslationUnitDecl", "inner": [
            {"kind": "NamespaceDecl", "name": "std", "inner": [{"kind": "EnumDecl", "name": "byte"}]},
            {"kind": "NamespaceDecl", "name": "api", "inner": [{"kind": "FunctionDecl", "name": "f", "inner": [
                {"kind": "ParmVarDecl", "name": "x", "type": {"desugaredQualType": "int", "qualType": "Count"}},
                {"kind": "CompoundStmt", "inner": [{"kind": "DeclStmt"}]}
            ]}]}
        ]}"#;
        let unit: Node = serde_json::from_str(text).expect("a tree");
        assert!(unit.inner[0].inner.is_empty());
        let function = &unit.inner[1].inner[0];
        assert_eq!((function.name.as_str(), function.inner.len()), ("f", 1));
        let ty = &function.inner[0].ty;
        assert_eq!(ty.canonical(), "int");
    }
}
