//! The declarations in the headers, by name.

use std::collections::HashMap;

use crate::ast::Node;

/// Classes, enums and C functions of the namespaces `nvinfer1` and `nvonnxparser`.
///
/// Names start with one of the two namespaces. Nested namespaces are left out, because the headers alias their
/// contents in the outer one.
#[derive(Debug, Default)]
pub struct Declarations {
    classes: HashMap<String, Class>,
    enums: HashMap<String, Enum>,
    functions: HashMap<String, Function>,
    variables: HashMap<String, String>,
}

/// A class with a body.
#[derive(Debug)]
pub struct Class {
    /// The name with every namespace.
    pub path: String,
    bases: Vec<String>,
    /// The public methods that the class declares itself.
    pub methods: Vec<Function>,
    /// Whether users may delete objects of the class; an undeclared destructor is public.
    pub has_public_destructor: bool,
    /// The data members that the class declares itself.
    pub fields: Vec<String>,
}

/// An enum with a body.
#[derive(Debug)]
pub struct Enum {
    /// The name with every namespace.
    pub path: String,
    /// The enumerators in declaration order.
    pub names: Vec<String>,
}

/// A function or method.
#[derive(Debug)]
pub struct Function {
    /// The name, with every namespace unless it is a method.
    pub name: String,
    /// The types of the parameters, without aliases.
    pub parameters: Vec<String>,
}

impl Declarations {
    /// Collects the declarations in a syntax tree.
    pub fn collect(unit: &Node) -> Self {
        let mut declarations = Self::default();
        declarations.visit(unit, &Scope::default());
        declarations
    }

    /// A class by its name without namespace; `None` if it is not declared.
    pub fn class(&self, name: &str) -> Option<&Class> {
        candidates(name).iter().find_map(|name| self.classes.get(name))
    }

    /// An enum by its name without namespace; a prefix `nvonnxparser::` selects among enums of one name.
    pub fn enumeration(&self, name: &str) -> Option<&Enum> {
        candidates(name).iter().find_map(|name| self.enums.get(name))
    }

    /// A function with C linkage; `None` if it is not declared.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }

    /// The qualified name of a variable outside classes, by its name.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The methods to which `object.name(…)` can resolve: those of the class or, if it declares none, of its nearest
    /// base.
    pub fn overloads(&self, class: &str, name: &str) -> Vec<&Function> {
        let Some(class) = self.class(class) else { return Vec::new() };
        let own: Vec<_> = class.methods.iter().filter(|method| method.name == name).collect();
        if !own.is_empty() {
            return own;
        }
        class
            .bases
            .iter()
            .map(|base| self.overloads(base, name))
            .find(|methods| !methods.is_empty())
            .unwrap_or_default()
    }

    fn visit(&mut self, node: &Node, scope: &Scope) {
        for child in &node.inner {
            match child.kind.as_str() {
                "NamespaceDecl" if scope.accepts(&child.name) => {
                    self.visit(child, &scope.namespace(&child.name));
                }
                "LinkageSpecDecl" => self.visit_linkage(child, scope),
                "CXXRecordDecl" if child.is_definition && !scope.path.is_empty() => {
                    self.visit_class(child, scope);
                }
                "EnumDecl" if !scope.path.is_empty() => self.visit_enum(child, scope),
                "VarDecl" => {
                    self.variables.insert(child.name.clone(), scope.member(&child.name));
                }
                _ => {}
            }
        }
    }

    fn visit_linkage(&mut self, node: &Node, scope: &Scope) {
        for child in node.inner.iter().filter(|child| child.kind == "FunctionDecl") {
            let function = Function { name: scope.member(&child.name), parameters: parameters(child) };
            self.functions.insert(child.name.clone(), function);
        }
        self.visit(node, scope);
    }

    fn visit_class(&mut self, node: &Node, scope: &Scope) {
        let mut class = Class {
            path: scope.member(&node.name),
            bases: node.bases.iter().map(|base| simple(base.ty.canonical()).to_owned()).collect(),
            methods: Vec::new(),
            has_public_destructor: true,
            fields: Vec::new(),
        };
        let mut is_public = node.tag == "struct";
        for child in &node.inner {
            match child.kind.as_str() {
                "AccessSpecDecl" => is_public = child.access == "public",
                "FieldDecl" => class.fields.push(child.name.clone()),
                "CXXDestructorDecl" if !child.is_implicit => {
                    class.has_public_destructor = is_public && !child.is_deleted;
                }
                "CXXMethodDecl" if is_public && is_callable(child) => {
                    class.methods.push(Function { name: child.name.clone(), parameters: parameters(child) });
                }
                _ => {}
            }
        }
        let inside = scope.class(&node.name);
        self.classes.entry(inside.key.clone()).or_insert(class);
        self.visit(node, &inside);
    }

    fn visit_enum(&mut self, node: &Node, scope: &Scope) {
        let constants = node.inner.iter().filter(|child| child.kind == "EnumConstantDecl");
        let names: Vec<_> = constants.map(|constant| constant.name.clone()).collect();
        if !names.is_empty() {
            let enumeration = Enum { path: scope.member(&node.name), names };
            self.enums.entry(scope.class(&node.name).key).or_insert(enumeration);
        }
    }
}

/// The scope of a declaration.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// All enclosing namespaces and classes.
    path: String,
    /// The outermost namespace and the enclosing classes.
    key: String,
}

impl Scope {
    const ROOTS: [&str; 2] = ["nvinfer1", "nvonnxparser"];

    fn accepts(&self, namespace: &str) -> bool {
        !namespace.is_empty() && (!self.path.is_empty() || Self::ROOTS.contains(&namespace))
    }

    fn member(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}::{name}", self.path) }
    }

    fn namespace(&self, name: &str) -> Self {
        let key = if self.key.is_empty() { name.to_owned() } else { self.key.clone() };
        Self { path: self.member(name), key }
    }

    fn class(&self, name: &str) -> Self {
        Self { path: self.member(name), key: format!("{}::{name}", self.key) }
    }
}

fn candidates(name: &str) -> [String; 3] {
    [name.to_owned(), format!("nvinfer1::{name}"), format!("nvonnxparser::{name}")]
}

fn simple(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn is_callable(method: &Node) -> bool {
    !method.is_deleted && !method.is_implicit && method.storage_class != "static"
}

fn parameters(function: &Node) -> Vec<String> {
    let parameters = function.inner.iter().filter(|child| child.kind == "ParmVarDecl");
    parameters.map(|parameter| parameter.ty.canonical().to_owned()).collect()
}
