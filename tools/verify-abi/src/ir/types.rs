//! Types of LLVM IR, and the layout of structs on x86-64.

use std::collections::HashMap;

/// An LLVM type, with the detail that calls and addresses need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Void,
    Float,
    Double,
    Integer(u32),
    /// With or without the type it points to: `ptr`, `i8*`.
    Pointer,
    Array(u64, Box<Type>),
    Struct {
        fields: Vec<Type>,
        is_packed: bool,
    },
    /// `%"class.nvinfer1::Weights"`, without sigil and quotes.
    Named(String),
    /// A type without a size: a function or an opaque struct.
    Unsized,
}

/// The named types of a module.
pub type Definitions = HashMap<String, Type>;

impl Type {
    /// Reads a type at the start of `text`; also returns the rest of the text.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let (mut ty, mut rest) = Self::read_base(text.trim_start())?;
        loop {
            let next = rest.trim_start();
            if let Some(after) = next.strip_prefix('*') {
                (ty, rest) = (Self::Pointer, after);
            } else if next.starts_with('(') {
                (ty, rest) = (Self::Unsized, next.get(group(next)?..)?);
            } else {
                return Some((ty, rest));
            }
        }
    }

    fn read_base(text: &str) -> Option<(Self, &str)> {
        match text.chars().next()? {
            '%' => {
                let (name, rest) = name(&text[1..])?;
                return Some((Self::Named(name.to_owned()), rest));
            }
            '[' => {
                let (inside, rest) = text[1..].split_at(group(text)?.checked_sub(2)?);
                let (count, element) = inside.split_once(" x ")?;
                let element = Self::read(element)?.0;
                return Some((Self::Array(count.trim().parse().ok()?, Box::new(element)), &rest[1..]));
            }
            '{' => return Self::read_struct(text, false),
            '<' if text.starts_with("<{") => {
                let (ty, rest) = Self::read_struct(&text[1..], true)?;
                return Some((ty, rest.strip_prefix('>')?));
            }
            _ => {}
        }
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let ty = match word {
            "ptr" => Self::Pointer,
            "void" => Self::Void,
            "float" => Self::Float,
            "double" => Self::Double,
            "opaque" => Self::Unsized,
            _ => Self::Integer(word.strip_prefix('i')?.parse().ok()?),
        };
        Some((ty, rest))
    }

    fn read_struct(text: &str, is_packed: bool) -> Option<(Self, &str)> {
        let (body, rest) = text.split_at(group(text)?);
        let fields = split(&body[1..body.len() - 1])
            .into_iter()
            .map(|field| Self::read(field).map(|(ty, _)| ty))
            .collect::<Option<_>>()?;
        Some((Self::Struct { fields, is_packed }, rest))
    }

    /// The size and alignment in bytes; `None` if the type has no size.
    pub fn layout(&self, definitions: &Definitions) -> Option<(u64, u64)> {
        Some(match self {
            Self::Void | Self::Unsized => return None,
            Self::Float => (4, 4),
            Self::Double | Self::Pointer => (8, 8),
            Self::Integer(bits) => {
                let bytes = u64::from(bits.div_ceil(8)).next_power_of_two();
                (bytes, bytes.min(16))
            }
            Self::Array(count, element) => {
                let (size, align) = element.layout(definitions)?;
                (size.checked_mul(*count)?, align)
            }
            Self::Named(name) => definitions.get(name)?.layout(definitions)?,
            Self::Struct { fields, .. } => {
                let (offsets, align) = self.offsets(definitions)?;
                let end = match (offsets.last(), fields.last()) {
                    (Some(offset), Some(field)) => offset + field.layout(definitions)?.0,
                    _ => 0,
                };
                (end.next_multiple_of(align), align)
            }
        })
    }

    /// The offset of element `index` in bytes, and its type; `None` if there is no such element.
    pub fn element(&self, index: u64, definitions: &Definitions) -> Option<(u64, Self)> {
        match self {
            Self::Array(_, element) => {
                Some((element.layout(definitions)?.0.checked_mul(index)?, (**element).clone()))
            }
            Self::Named(name) => definitions.get(name)?.element(index, definitions),
            Self::Struct { fields, .. } => {
                let index = usize::try_from(index).ok()?;
                let (offsets, _) = self.offsets(definitions)?;
                Some((*offsets.get(index)?, fields.get(index)?.clone()))
            }
            _ => None,
        }
    }

    /// The offsets of the fields of a struct, and its alignment.
    fn offsets(&self, definitions: &Definitions) -> Option<(Vec<u64>, u64)> {
        let Self::Struct { fields, is_packed } = self else { return None };
        let (mut offsets, mut end, mut align) = (Vec::new(), 0_u64, 1);
        for field in fields {
            let (size, natural) = field.layout(definitions)?;
            let needed = if *is_packed { 1 } else { natural };
            end = end.next_multiple_of(needed);
            align = align.max(needed);
            offsets.push(end);
            end = end.checked_add(size)?;
        }
        Some((offsets, align))
    }

    /// The type as the tables spell it: `ptr`, `i32`, `Dims64`, `{ptr, i64}`.
    pub fn word(&self) -> String {
        match self {
            Self::Void => "void".to_owned(),
            Self::Float => "float".to_owned(),
            Self::Double => "double".to_owned(),
            Self::Integer(bits) => format!("i{bits}"),
            Self::Pointer => "ptr".to_owned(),
            Self::Array(count, element) => format!("[{count} x {}]", element.word()),
            Self::Struct { fields, .. } => {
                format!("{{{}}}", fields.iter().map(Self::word).collect::<Vec<_>>().join(", "))
            }
            Self::Named(name) => {
                let name = name.strip_prefix("class.").or(name.strip_prefix("struct.")).unwrap_or(name);
                name.rsplit("::").next().unwrap_or(name).to_owned()
            }
            Self::Unsized => "unsized".to_owned(),
        }
    }
}

/// Reads the identifier after a sigil, quoted or not.
pub fn name(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, rest) = quoted.split_once('"')?;
        return Some((name, rest));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._$-".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The length of the bracketed group that `text` starts with, brackets included.
pub fn group(text: &str) -> Option<usize> {
    if !text.starts_with(['(', '[', '{', '<']) {
        return None;
    }
    let (mut depth, mut is_quoted) = (0_u32, false);
    for (index, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// The parts between commas that no bracket encloses.
pub fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_quoted) = (Vec::new(), 0, 0_i32, false);
    for (index, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Type {
        let (ty, rest) = Type::read(text).expect("a type");
        assert_eq!(rest.trim(), "", "{text}");
        ty
    }

    #[test]
    fn pointers_are_the_same_with_and_without_what_they_point_to() {
        for text in ["ptr", "i8*", "%\"class.nvinfer1::Weights\"**", "void (i32, i8*)*", "i32 (...)**"] {
            assert_eq!(read(text), Type::Pointer, "{text}");
        }
    }

    #[test]
    fn a_type_ends_where_the_value_starts() {
        assert_eq!(Type::read("i32 noundef %0"), Some((Type::Integer(32), " noundef %0")));
        assert_eq!(Type::read("i8* %5(i8* %2)"), Some((Type::Pointer, " %5(i8* %2)")));
    }

    #[test]
    fn fields_lie_where_the_abi_puts_them() {
        let mut definitions = Definitions::new();
        definitions.insert("base".to_owned(), read("{ ptr }"));
        definitions.insert("layer".to_owned(), read("{ %base, %base* }"));
        let convolution = read("{ %layer, i8, [3 x i32], i64 }");
        let offset = |index| convolution.element(index, &definitions).map(|(offset, _)| offset);
        assert_eq!([0, 1, 2, 3, 4].map(offset), [Some(0), Some(16), Some(20), Some(32), None]);
        assert_eq!(convolution.layout(&definitions), Some((40, 8)));
        assert_eq!(read("<{ i8, i64 }>").layout(&definitions), Some((9, 1)));
    }

    #[test]
    fn words_drop_namespaces_and_kinds() {
        assert_eq!(read("%\"class.nvinfer1::Dims64\"").word(), "Dims64");
        assert_eq!(read("{ i8*, i64 }").word(), "{ptr, i64}");
    }

    #[test]
    fn text_that_is_no_type_is_none() {
        for text in ["", "noundef", "[3 x", "{ i8", "%", "<{ i8 }", "]", "[ptr]", "i"] {
            assert_eq!(Type::read(text), None, "{text}");
        }
    }
}
