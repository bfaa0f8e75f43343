//! Compares the tables with headers.

use std::{collections::HashMap, fmt, path::PathBuf};

use nvinfer::{
    Family, Version,
    sys::{
        Field, LoggerMethod, Signature,
        enums::{self, Enumerator},
        export, layouts,
        method::Method,
        table,
    },
};

use crate::{
    Error, Result,
    headers::{Headers, LOGGER, MethodCall},
    ir::{CFunctionCall, Unreadable, VirtualCall},
};

/// The result of comparing the tables with one folder of headers.
#[derive(Debug)]
pub struct Comparison {
    path: PathBuf,
    parts: (u32, u32, u32),
    /// The release of the headers or, if the tables do not describe it, the latest described release before it.
    pub version: Version,
    /// The differences between tables and headers.
    pub differences: Vec<Difference>,
    /// Enumerators and overloads that the headers declare and no table mentions.
    pub notes: Vec<String>,
    /// The methods whose slots agree.
    pub verified: Vec<&'static Method>,
    /// The number of comparisons made.
    pub compared: usize,
}

/// A disagreement between the tables and the headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The item that differs, such as `IBuilder::reset()`.
    pub subject: String,
    /// The tables' description of the item.
    pub table: String,
    /// The headers' description of the item.
    pub headers: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, table, headers } = self;
        write!(f, "{subject}: the table says {table}; the headers say {headers}")
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))?;
        self.differences.iter().try_for_each(|difference| writeln!(f, "difference: {difference}"))?;
        let Self { path, parts, version, differences, verified, compared, .. } = self;
        let outcome = match differences.len() {
            0 => "no difference".to_owned(),
            1 => "1 difference".to_owned(),
            many => format!("{many} differences"),
        };
        let (product, release, methods) = (version.product(), dotted(*parts), verified.len());
        writeln!(
            f,
            "{product} {release} in {}: {outcome} in {compared} comparisons; {methods} methods verified",
            path.display()
        )
    }
}

impl Comparison {
    /// Compares every row of the tables with the headers.
    pub fn new(headers: &Headers) -> Result<Self> {
        let path = headers.path().to_owned();
        let too_old = || Error::TooOld { headers: path.clone(), number: headers.number() };
        let version = nearest(headers).ok_or_else(too_old)?;
        let mut comparison = Self {
            path,
            parts: headers.parts(),
            version,
            differences: Vec::new(),
            notes: Vec::new(),
            verified: Vec::new(),
            compared: 0,
        };
        comparison.compare_version(headers);
        for method in table::methods() {
            comparison.compare_method(headers, method);
        }
        comparison.note_overloads(headers);
        comparison.compare_logger(headers);
        for row in enums::enumerators() {
            comparison.compare_enumerator(headers, row);
        }
        comparison.note_enumerators(headers);
        comparison.compare_structs(headers);
        comparison.compare_exports(headers);
        Ok(comparison)
    }

    fn compare_version(&mut self, headers: &Headers) {
        let (version, parts, number) = (self.version, headers.parts(), headers.number());
        let table = if Version::from_number(number).is_some() {
            format!("{} ({})", dotted(version.parts()), version.number())
        } else {
            let (major, minor, _) = version.parts();
            format!("nothing; all else is compared with {} {major}.{minor}", version.product())
        };
        let is_same = (version.number(), version.parts()) == (number, parts);
        self.check("release", is_same, table, format!("{} ({number})", dotted(parts)));
        let has_parser_version = headers.has_parser_version();
        self.check("NV_ONNX_PARSER_VERSION", has_parser_version, "a number", ABSENT);
    }

    fn compare_method(&mut self, headers: &Headers, method: &'static Method) {
        let signature = method.signature(self.version.family());
        let calls = headers.calls(method.class, method.name);
        let subject = format!("{}({})", method.path, signature.arguments.join(", "));
        let Some(expected) = expected_call(method, self.version) else {
            let found = calls.iter().flatten().find(|call| call.signature.arguments == signature.arguments);
            self.check(subject, found.is_none(), ABSENT, text(found));
            return;
        };
        if self.check_call(subject, &expected, &calls) {
            self.verified.push(method);
        }
    }

    fn note_overloads(&mut self, headers: &Headers) {
        let mut rows: HashMap<_, Vec<_>> = HashMap::new();
        for method in table::methods() {
            rows.entry((method.class, method.name)).or_default().push(method);
        }
        for method in table::methods() {
            let Some(rows) = rows.remove(&(method.class, method.name)) else { continue };
            let is_known = |call: &VirtualCall| {
                rows.iter().any(|row| {
                    let arguments = row.signature(self.version.family()).arguments;
                    call.signature.arguments == arguments
                })
            };
            let calls = headers.calls(method.class, method.name);
            let others = calls.iter().flatten().filter(|call| !is_known(call));
            self.notes.extend(others.map(|call| format!("{}, {call}, is in no table", method.path)));
        }
    }

    fn compare_logger(&mut self, headers: &Headers) {
        let vtable = LoggerMethod::vtable(self.version.family());
        for (slot, method) in (0..).zip(vtable) {
            let expected = VirtualCall { via: 0, slot, signature: method.signature().into() };
            let calls = headers.calls(LOGGER, method.name());
            self.check_call(format!("{LOGGER}::{}", method.name()), &expected, &calls);
        }
        let (expected, said) = (vtable.len() as u64, headers.logger_length());
        let entries = |length: u64| format!("{length} entries");
        self.check("vtable of ILogger", said == Some(expected), entries(expected), text(said.map(entries)));
    }

    fn compare_enumerator(&mut self, headers: &Headers, row: &Enumerator) {
        let said = headers.enumerators(row.class).into_iter().find(|(name, _)| *name == row.name);
        let said = said.map(|(_, value)| value);
        let expected = row.value(self.version).map(i64::from);
        self.check(format!("{}::{}", row.class, row.name), said == expected, text(expected), text(said));
    }

    fn note_enumerators(&mut self, headers: &Headers) {
        let rows: Vec<_> = enums::enumerators().collect();
        let mut classes: Vec<_> = rows.iter().map(|row| row.class).collect();
        classes.dedup();
        for class in classes {
            let is_known = |name: &str| rows.iter().any(|row| row.class == class && row.name == name);
            let others = headers.enumerators(class).into_iter().filter(|(name, _)| !is_known(name));
            self.notes
                .extend(others.map(|(name, value)| format!("{class}::{name} = {value} is in no table")));
        }
    }

    fn compare_structs(&mut self, headers: &Headers) {
        for layout in layouts(self.version.family()) {
            let said = headers.size(layout.name);
            let bytes = |size: usize| format!("{size} bytes");
            self.check(layout.name, said == Some(layout.size), bytes(layout.size), text(said.map(bytes)));
            for field in layout.fields {
                let said = headers.field(layout.name, field.name);
                let place = |field: Field| format!("{} bytes at {}", field.size, field.offset);
                let subject = format!("{}::{}", layout.name, field.name);
                self.check(subject, said == Some(*field), place(*field), text(said.map(place)));
            }
        }
    }

    fn compare_exports(&mut self, headers: &Headers) {
        for (symbol, signature) in export::exports() {
            let (expected, said) = (CFunctionCall::from(signature), headers.export(symbol));
            let is_same = said.as_ref() == Some(&Ok(expected.clone()));
            self.check(symbol, is_same, expected.to_string(), text(said.as_ref().map(read)));
        }
    }

    /// Whether one of the overloads is called as expected.
    fn check_call(&mut self, subject: String, expected: &VirtualCall, calls: &[MethodCall]) -> bool {
        let is_same = calls.iter().flatten().any(|call| call == expected);
        self.check(subject, is_same, expected.to_string(), describe(expected, calls));
        is_same
    }

    /// Counts a comparison, and records a difference if the two sides disagree.
    fn check(
        &mut self,
        subject: impl Into<String>,
        is_same: bool,
        table: impl Into<String>,
        headers: impl Into<String>,
    ) {
        self.compared += 1;
        if !is_same {
            let (subject, table, headers) = (subject.into(), table.into(), headers.into());
            self.differences.push(Difference { subject, table, headers });
        }
    }
}

fn dotted((major, minor, patch): (u32, u32, u32)) -> String {
    format!("{major}.{minor}.{patch}")
}

const ABSENT: &str = "it is absent";

fn text(said: Option<impl ToString>) -> String {
    said.map_or_else(|| ABSENT.to_owned(), |said| said.to_string())
}

fn read(call: &std::result::Result<impl ToString, Unreadable>) -> String {
    match call {
        Ok(call) => call.to_string(),
        Err(reason) => reason.to_string(),
    }
}

/// The call that a caller of the method makes in a release that has it.
fn expected_call(method: &Method, version: Version) -> Option<VirtualCall> {
    let signature = method.signature(version.family()).into();
    method.slot(version).map(|slot| VirtualCall { via: method.via, slot, signature })
}

/// The overload with the expected arguments; all overloads if none has them.
fn describe(expected: &VirtualCall, calls: &[MethodCall]) -> String {
    let is_meant = |call: &&MethodCall| {
        call.as_ref().is_ok_and(|call| call.signature.arguments == expected.signature.arguments)
    };
    match calls.iter().find(is_meant) {
        Some(call) => read(call),
        None if calls.is_empty() => ABSENT.to_owned(),
        None => calls.iter().map(read).collect::<Vec<_>>().join(" or "),
    }
}

/// The release of the headers or, if the tables do not describe it, the latest described release before it.
fn nearest(headers: &Headers) -> Option<Version> {
    let last = Family::ALL.into_iter().map(|family| family.first().number()).max()?;
    // numbers of one major version span less than ten thousand
    let version = (0..=headers.number().min(last + 9_999)).rev().find_map(Version::from_number)?;
    // below TensorRT-RTX 1.3 lie the numbers of TensorRT 9
    (version.parts().0 <= headers.parts().0).then_some(version)
}

impl From<Signature> for CFunctionCall {
    fn from(signature: Signature) -> Self {
        Self {
            arguments: signature.arguments.iter().map(|&word| word.to_owned()).collect(),
            result: signature.result.to_owned(),
        }
    }
}
