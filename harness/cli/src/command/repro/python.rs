//! Python literals, for the constants of the script `data.py`.

use std::fmt;

/// A Python literal.
pub enum Literal {
    /// A string.
    Text(String),
    /// An integer.
    Int(usize),
    /// `True` or `False`.
    Bool(bool),
    /// A list, one line per element.
    List(Vec<Literal>),
    /// A tuple.
    Tuple(Vec<Literal>),
    /// A dictionary.
    Dict(Vec<(Literal, Literal)>),
}

impl Literal {
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub fn texts(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::text(text.as_ref())).collect())
    }

    pub fn shape(shape: &[usize]) -> Self {
        Self::Tuple(shape.iter().map(|&extent| Self::Int(extent)).collect())
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // JSON escapes a subset of what Python does
            Self::Text(text) => write!(f, "{}", serde_json::Value::from(text.as_str())),
            Self::Int(int) => write!(f, "{int}"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::List(items) => write!(f, "[{}]", joined(items)),
            // the comma makes a single element a tuple
            Self::Tuple(items) if items.len() == 1 => write!(f, "({},)", items[0]),
            Self::Tuple(items) => write!(f, "({})", joined(items)),
            Self::Dict(entries) => {
                let entries: Vec<_> = entries.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

fn joined(items: &[Literal]) -> String {
    items.iter().map(Literal::to_string).collect::<Vec<_>>().join(", ")
}

/// The script with new values for the constants that it assigns, one per line.
pub fn with_constants(script: &str, constants: &[(&str, Literal)]) -> String {
    let assigned = |line: &str| {
        let constant = constants.iter().find(|(name, _)| line.starts_with(&format!("{name} = ")));
        constant.map_or_else(|| line.to_owned(), |(name, value)| format!("{name} = {value}"))
    };
    script.lines().map(|line| assigned(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_replace_their_lines_alone() {
        let script = "A = []\n# A = []\nAB = 1\n";
        let value = Literal::List(vec![Literal::shape(&[3]), Literal::text("q\"\u{7f}")]);
        assert_eq!(
            with_constants(script, &[("A", value)]),
            "A = [(3,), \"q\\\"\u{7f}\"]\n# A = []\nAB = 1\n"
        );
    }
}
