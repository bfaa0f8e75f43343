//! Reads a folder of headers into the terms of nvinfer's tables.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use nvinfer::{
    Family,
    sys::{Field, LoggerMethod, enums, export, layouts, table},
};

use crate::{
    Result,
    clang::Clang,
    declarations::Declarations,
    ir::{CFunctionCall, Module, Unreadable, VirtualCall},
    probe::Probes,
};

/// The call that a compiled caller of a method makes.
pub type MethodCall = std::result::Result<VirtualCall, Unreadable>;

/// The class of loggers.
pub const LOGGER: &str = "ILogger";

/// The contents of a folder of headers that the tables describe too.
#[derive(Debug)]
pub struct Headers {
    path: PathBuf,
    number: u32,
    parts: (u32, u32, u32),
    module: Module,
    probed: Probed,
}

/// The compiled probes: for each method, function or constant, its name in the module.
#[derive(Debug)]
struct Probed {
    methods: HashMap<(&'static str, &'static str), Vec<String>>,
    enums: HashMap<&'static str, Vec<Named>>,
    structs: HashMap<&'static str, ProbedStruct>,
    exports: HashMap<&'static str, String>,
    parser_version: String,
    logger: &'static str,
}

/// A probe for a C++ entity with a name.
#[derive(Debug)]
struct Named {
    name: String,
    probe: String,
}

#[derive(Debug)]
struct ProbedStruct {
    size: String,
    offsets: Vec<Named>,
    sizes: Vec<String>,
}

impl Headers {
    /// Compiles and reads the headers in `path` with the clang at `clang`.
    pub fn read(path: &Path, clang: &Path) -> Result<Self> {
        let clang = Clang::new(clang, path)?;
        let declarations = Declarations::collect(&clang.syntax_tree()?);
        let mut probes = Probes::new();
        let number = probes.macro_value("NV_TENSORRT_VERSION");
        let parts =
            ["MAJOR", "MINOR", "PATCH"].map(|part| probes.macro_value(&format!("NV_TENSORRT_{part}")));
        let probed = Probed::ask(&declarations, &mut probes);
        let module = clang.compile(probes.code())?;
        let value = |name: &String| {
            let value = module.constant(name).and_then(|value| u32::try_from(value).ok());
            value.ok_or_else(|| clang.unknown("they do not say which release they are of"))
        };
        let [major, minor, patch] = &parts;
        let (number, parts) = (value(&number)?, (value(major)?, value(minor)?, value(patch)?));
        Ok(Self { path: path.to_owned(), number, parts, module, probed })
    }

    /// The folder of headers.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the release: the value of `NV_TENSORRT_VERSION`.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Major, minor and patch: the values of `NV_TENSORRT_MAJOR`, `NV_TENSORRT_MINOR` and `NV_TENSORRT_PATCH`.
    pub fn parts(&self) -> (u32, u32, u32) {
        self.parts
    }

    /// The call of each overload of a method; empty if the headers do not declare the method.
    pub fn calls(&self, class: &'static str, method: &'static str) -> Vec<MethodCall> {
        let probes = self.probed.methods.get(&(class, method)).into_iter().flatten();
        probes.map(|probe| self.module.virtual_call(probe)).collect()
    }

    /// The call of a C function; `None` if the headers do not declare it.
    pub fn export(&self, symbol: &str) -> Option<std::result::Result<CFunctionCall, Unreadable>> {
        self.probed.exports.get(symbol).map(|probe| self.module.c_call(probe, symbol))
    }

    /// The names and values of an enum in the order of their declaration; empty if the headers do not declare the
    /// enum.
    pub fn enumerators(&self, name: &str) -> Vec<(&str, i64)> {
        let probes = self.probed.enums.get(name).into_iter().flatten();
        probes
            .filter_map(|Named { name, probe }| Some((name.as_str(), self.module.constant(probe)?)))
            .collect()
    }

    /// The size of a struct in bytes; `None` if the headers do not define it.
    pub fn size(&self, name: &str) -> Option<usize> {
        let probe = &self.probed.structs.get(name)?.size;
        self.module.constant(probe)?.try_into().ok()
    }

    /// A field of a struct; `None` if the headers do not define it.
    pub fn field(&self, name: &str, field: &'static str) -> Option<Field> {
        let ProbedStruct { offsets, sizes, .. } = self.probed.structs.get(name)?;
        let (offset, size) = offsets.iter().zip(sizes).find(|(offset, _)| offset.name == field)?;
        let value = |probe: &str| self.module.constant(probe)?.try_into().ok();
        Some(Field { name: field, offset: value(&offset.probe)?, size: value(size)? })
    }

    /// The number of functions in the vtable of a logger; `None` if it cannot be read.
    pub fn logger_length(&self) -> Option<u64> {
        self.module.vtable_length(self.probed.logger)
    }

    /// Whether `NV_ONNX_PARSER_VERSION` has a value.
    pub fn has_parser_version(&self) -> bool {
        self.module.constant(&self.probed.parser_version).is_some()
    }
}

impl Probed {
    fn ask(declarations: &Declarations, probes: &mut Probes) -> Self {
        const PARSER_VERSION: &str = "NV_ONNX_PARSER_VERSION";
        let parser_version = match declarations.variable(PARSER_VERSION) {
            Some(path) => probes.constant(path),
            None => probes.macro_value(PARSER_VERSION),
        };
        let mut probed = Self {
            methods: HashMap::new(),
            enums: HashMap::new(),
            structs: HashMap::new(),
            exports: HashMap::new(),
            parser_version,
            logger: probes.logger(),
        };
        for key in table::methods().map(|method| (method.class, method.name)) {
            probed.methods.entry(key).or_insert_with(|| ask_method(declarations, probes, key));
        }
        for method in LoggerMethod::ALL {
            let answer = ask_logger(declarations, probes, probed.logger, method);
            probed.methods.insert((LOGGER, method.name()), answer);
        }
        for row in enums::enumerators() {
            probed.enums.entry(row.class).or_insert_with(|| ask_enum(declarations, probes, row.class));
        }
        for layout in Family::ALL.into_iter().flat_map(layouts) {
            if let Some(answer) = ask_struct(declarations, probes, layout.name) {
                probed.structs.insert(layout.name, answer);
            }
        }
        for (symbol, _) in export::exports() {
            if let Some(function) = declarations.function(symbol) {
                probed.exports.insert(symbol, probes.c_function(function));
            }
        }
        probed
    }
}

fn ask_method(declarations: &Declarations, probes: &mut Probes, (class, name): (&str, &str)) -> Vec<String> {
    let Some(declaration) = declarations.class(class) else { return Vec::new() };
    if name == "delete" {
        let deletion = declaration.has_public_destructor.then(|| probes.delete(&declaration.path));
        return deletion.into_iter().collect();
    }
    let overloads = declarations.overloads(class, name);
    overloads.into_iter().map(|method| probes.method(declaration, method)).collect()
}

/// The destructors are those of a class that implements the interface: the interface's own may be protected.
fn ask_logger(
    declarations: &Declarations,
    probes: &mut Probes,
    implementation: &str,
    method: LoggerMethod,
) -> Vec<String> {
    match method {
        LoggerMethod::Destructor => vec![probes.destroy(implementation)],
        LoggerMethod::DeletingDestructor => vec![probes.delete(implementation)],
        _ => ask_method(declarations, probes, (LOGGER, method.name())),
    }
}

fn ask_enum(declarations: &Declarations, probes: &mut Probes, name: &str) -> Vec<Named> {
    let Some(enumeration) = declarations.enumeration(name) else { return Vec::new() };
    let ask = |name: &String| Named {
        name: name.clone(),
        probe: probes.constant(&format!("{}::{name}", enumeration.path)),
    };
    enumeration.names.iter().map(ask).collect()
}

fn ask_struct(declarations: &Declarations, probes: &mut Probes, name: &str) -> Option<ProbedStruct> {
    let class = declarations.class(name)?;
    let path = &class.path;
    let mut probed = ProbedStruct {
        size: probes.constant(&format!("sizeof({path})")),
        offsets: Vec::new(),
        sizes: Vec::new(),
    };
    for field in &class.fields {
        let offset = probes.constant(&format!("__builtin_offsetof({path}, {field})"));
        probed.offsets.push(Named { name: field.clone(), probe: offset });
        probed.sizes.push(probes.constant(&format!("sizeof({path}::{field})")));
    }
    Some(probed)
}
