//! The calls of a function, and the origins of the values in them.

use std::collections::HashMap;

use super::types::{self, Definitions, Type};

/// How a value was reached from the function's first parameter: the offset of each load, and an offset after the
/// last one. `[8, 0]` is what lies at byte 8 of the parameter; `[0]` is the parameter.
pub type Origin = Vec<i64>;

/// A call in a function.
#[derive(Debug)]
pub struct Call {
    /// The function called.
    pub callee: Callee,
    /// The type of the result, preceded by `zeroext` if it is extended.
    pub result: String,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

/// The function that a call reaches.
#[derive(Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function with this symbol.
    Symbol(String),
    /// A function whose address was read from memory; `None` if the origin is unknown.
    Address(Option<Origin>),
}

/// An argument of a call.
#[derive(Debug)]
pub struct Argument {
    /// How the argument is passed: `ptr`, `byval(Dims32)`, `sret(Dims64)` …
    pub word: String,
    /// The origin of the value; `None` if it is unknown.
    pub origin: Option<Origin>,
}

/// The calls of one function, in program order.
#[derive(Debug, Default)]
pub struct Body {
    pub calls: Vec<Call>,
}

impl Body {
    /// Reads the lines of a function, its head first.
    pub fn read(lines: &[String], definitions: &Definitions) -> Self {
        let mut reader = Reader { definitions, origins: HashMap::new(), body: Self::default() };
        if let Some((head, body)) = lines.split_first() {
            reader.head(head);
            for line in body {
                reader.instruction(line.trim());
            }
        }
        reader.body
    }
}

struct Reader<'a> {
    definitions: &'a Definitions,
    /// The known origins, by name of the value.
    origins: HashMap<String, Origin>,
    body: Body,
}

impl Reader<'_> {
    fn head(&mut self, line: &str) -> Option<()> {
        let (_, after) = line.split_once('@')?;
        let (_, list) = types::name(after)?;
        let parameters = types::split(&list[1..types::group(list)? - 1]);
        let name = value(parameters.first()?)?;
        self.origins.insert(name.to_owned(), vec![0]);
        Some(())
    }

    fn instruction(&mut self, line: &str) -> Option<()> {
        let (target, operation) = match line.strip_prefix('%') {
            Some(text) => {
                let (name, rest) = types::name(text)?;
                (Some(name), rest.trim_start().strip_prefix("= ")?)
            }
            None => (None, line),
        };
        let origin = if let Some(operands) = operation.strip_prefix("load ") {
            self.load(operands)
        } else if let Some(operands) = operation.strip_prefix("getelementptr ") {
            self.get_element_pointer(operands)
        } else if let Some(operands) = operation.strip_prefix("bitcast ") {
            self.origin_of(operands.split(" to ").next()?)
        } else {
            self.call(operation);
            None
        };
        self.origins.insert(target?.to_owned(), origin?);
        Some(())
    }

    fn load(&self, operands: &str) -> Option<Origin> {
        let mut origin = self.origin_of(types::split(operands).get(1)?)?;
        origin.push(0);
        Some(origin)
    }

    fn get_element_pointer(&self, operands: &str) -> Option<Origin> {
        let mut operands = operands;
        while let Some(rest) =
            ["inbounds ", "nuw ", "nusw "].iter().find_map(|flag| operands.strip_prefix(flag))
        {
            operands = rest;
        }
        let parts = types::split(operands);
        let (source, rest) = parts.split_first()?;
        let (base, indices) = rest.split_first()?;
        let mut origin = self.origin_of(base)?;
        let (mut ty, _) = Type::read(source)?;
        let mut offset = 0;
        for (position, index) in indices.iter().enumerate() {
            let index: i64 = index.rsplit(' ').next()?.parse().ok()?;
            offset += if position == 0 {
                i64::try_from(ty.layout(self.definitions)?.0).ok()?.checked_mul(index)?
            } else {
                let (start, element) = ty.element(u64::try_from(index).ok()?, self.definitions)?;
                ty = element;
                i64::try_from(start).ok()?
            };
        }
        *origin.last_mut()? += offset;
        Some(origin)
    }

    fn call(&mut self, operation: &str) -> Option<()> {
        let operation = ["tail ", "musttail ", "notail "]
            .iter()
            .find_map(|word| operation.strip_prefix(word))
            .unwrap_or(operation);
        let (result, is_extended, rest) = typed(operation.strip_prefix("call ")?)?;
        let rest = rest.trim_start();
        let (name, list) = types::name(rest.get(1..)?)?;
        let callee = match rest.chars().next()? {
            '@' => Callee::Symbol(name.to_owned()),
            '%' => Callee::Address(self.origins.get(name).cloned()),
            _ => return None,
        };
        let arguments = types::split(&list[1..types::group(list)? - 1]);
        let arguments = arguments.into_iter().map(|text| self.argument(text)).collect::<Option<_>>()?;
        self.body.calls.push(Call { callee, result: word(&result, is_extended), arguments });
        Some(())
    }

    fn argument(&self, text: &str) -> Option<Argument> {
        let (ty, rest) = Type::read(text)?;
        let in_memory = ["byval", "sret"].into_iter().find_map(|how| {
            let (_, pointee) = rest.split_once(&format!(" {how}("))?;
            Some(format!("{how}({})", Type::read(pointee)?.0.word()))
        });
        let is_extended = rest.contains(" zeroext ");
        Some(Argument {
            word: in_memory.unwrap_or_else(|| word(&ty, is_extended)),
            origin: self.origin_of(text),
        })
    }

    /// The origin of the value that an operand, type first, ends with.
    fn origin_of(&self, operand: &str) -> Option<Origin> {
        self.origins.get(value(operand)?).cloned()
    }
}

/// The name of the value that an operand ends with; `None` for a constant.
fn value(operand: &str) -> Option<&str> {
    operand.rsplit(' ').next()?.strip_prefix('%')
}

/// Skips attributes, then reads a type; also returns whether `zeroext` was among the attributes.
fn typed(text: &str) -> Option<(Type, bool, &str)> {
    let (mut rest, mut is_extended) = (text.trim_start(), false);
    loop {
        if let Some((ty, after)) = Type::read(rest) {
            return Some((ty, is_extended, after));
        }
        let end = rest.find([' ', '('])?;
        is_extended |= &rest[..end] == "zeroext";
        rest = &rest[end..];
        if rest.starts_with('(') {
            rest = &rest[types::group(rest)?..];
        }
        rest = rest.trim_start();
    }
}

/// The type as the tables spell it; a `bool` is a bit extended to a byte.
fn word(ty: &Type, is_extended: bool) -> String {
    match (ty, is_extended) {
        (Type::Integer(1), true) => "bool".to_owned(),
        (ty, true) => format!("zeroext {}", ty.word()),
        (ty, false) => ty.word(),
    }
}
