//! Generates C++ code that calls every method of the tables, as a user's code would.

use std::fmt::Write as _;

use crate::declarations::{Class, Function};

/// Generated code. Its functions and constants have names that [`Module`](crate::ir::Module) can look up.
#[derive(Debug)]
pub struct Probes {
    code: String,
    count: usize,
}

impl Probes {
    /// Starts with the code that all probes share.
    pub fn new() -> Self {
        let code = "template <class T> struct Same { using Type = T; };\n".to_owned();
        Self { code, count: 0 }
    }

    /// The code so far.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Adds a function that calls `method` on an object of `class`; returns its name.
    pub fn method(&mut self, class: &Class, method: &Function) -> String {
        let call = format!("p->{}({})", method.name, arguments(method));
        self.define(Some(&class.path), &method.parameters, &call)
    }

    /// Adds a function that deletes an object of a class; returns its name.
    pub fn delete(&mut self, class: &str) -> String {
        self.define(Some(class), &[], "delete p")
    }

    /// Adds a function that destroys an object of a class in place; returns its name.
    pub fn destroy(&mut self, class: &str) -> String {
        self.define(Some(class), &[], &format!("p->~{class}()"))
    }

    /// Adds a function that calls a C function; returns its name.
    pub fn c_function(&mut self, function: &Function) -> String {
        let call = format!("{}({})", function.name, arguments(function));
        self.define(None, &function.parameters, &call)
    }

    /// Adds a constant with the value of an expression; returns its name.
    pub fn constant(&mut self, expression: &str) -> String {
        let name = self.name();
        self.push(format_args!(
            "extern \"C\" {{ extern const long long {name} = static_cast<long long>({expression}); }}"
        ));
        name
    }

    /// Adds a constant with the value of a macro, if the macro is defined; returns its name.
    pub fn macro_value(&mut self, name: &str) -> String {
        self.push(format_args!("#ifdef {name}"));
        let constant = self.constant(name);
        self.push(format_args!("#endif"));
        constant
    }

    /// Adds a class that implements the logger interface, so that its vtable is in the module; returns its name.
    pub fn logger(&mut self) -> &'static str {
        self.push(format_args!(
            "struct OwnedLogger : nvinfer1::ILogger {{ void log(Severity, char const*) noexcept override; }};\n\
             void OwnedLogger::log(Severity, char const*) noexcept {{}}"
        ));
        "OwnedLogger"
    }

    fn define(&mut self, object: Option<&str>, types: &[String], call: &str) -> String {
        let name = self.name();
        let object = object.map(|class| format!("{class}* p"));
        let values = types.iter().enumerate();
        let values = values.map(|(index, ty)| format!("Same<{ty}>::Type a{index}"));
        let parameters: Vec<_> = object.into_iter().chain(values).collect();
        // inside the namespaces, so that types resolve however the headers spelled them
        self.push(format_args!(
            "namespace nvonnxparser {{ using namespace nvinfer1;\n\
             extern \"C\" void {name}({}) {{ static_cast<void>({call}); }} }}",
            parameters.join(", ")
        ));
        name
    }

    fn name(&mut self) -> String {
        self.count += 1;
        format!("probe_{}", self.count)
    }

    fn push(&mut self, line: std::fmt::Arguments<'_>) {
        // writing to a string cannot fail
        let _ = writeln!(self.code, "{line}");
    }
}

fn arguments(function: &Function) -> String {
    (0..function.parameters.len()).map(|index| format!("a{index}")).collect::<Vec<_>>().join(", ")
}
