use std::fmt;

use serde::{Deserialize, Serialize};

/// Why an output is wrong: the mutants of golden that reproduce it.
///
/// `Display` gives the line that reports show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The mutants that reproduce the output, in golden's order: one answer, which has several if the case cannot
    /// distinguish them; empty if nothing reproduces the output.
    #[serde(rename = "explanations")]
    pub mutants: Vec<ReproducingMutant>,
    /// The largest difference between the output and that of the closest mutant; `None` if there is no mutant, or if only
    /// shapes are known.
    pub residual: Option<f64>,
    /// The largest difference between the output and golden's; `None` if the shapes differ, or an element is no number or infinite.
    pub unexplained: Option<f64>,
    /// The names of mutants that may be why, although the output tells too little: it differs only at quantized elements that they leave open, close
    /// to a tie. Empty if something reproduces the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible: Vec<String>,
}

/// A mutant of golden that reproduces an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReproducingMutant {
    /// The mutant's name, in kebab-case.
    #[serde(rename = "mutant")]
    pub name: String,
    /// What the mutant changes, as a clause, such as "the bias is not added".
    #[serde(rename = "change")]
    pub clause: String,
}

impl Diagnosis {
    /// The names of the mutants.
    pub fn mutant_names(&self) -> impl Iterator<Item = &str> {
        self.mutants.iter().map(|mutant| mutant.name.as_str())
    }

    /// The largest difference between the output and golden's: infinity if the shapes differ, or an element is no number or infinite.
    pub fn largest_difference(&self) -> f64 {
        self.unexplained.unwrap_or(f64::INFINITY)
    }

    /// This diagnosis with only the mutants of these names.
    #[must_use]
    pub fn narrowed_to(mut self, names: &[String]) -> Self {
        self.mutants.retain(|mutant| names.contains(&mutant.name));
        if self.mutants.is_empty() {
            self.residual = None;
        }
        self
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clauses: Vec<_> = self.mutants.iter().map(|mutant| mutant.clause.as_str()).collect();
        let subject = if self.residual.is_some() { "output equals golden" } else { "shape is golden's" };
        match clauses.as_slice() {
            [] => f.write_str("unexplained")?,
            clauses => write!(f, "{subject} if {}", clauses.join("; or if "))?,
        }
        match (self.residual, self.unexplained) {
            (Some(residual), Some(unexplained)) => write!(
                f,
                " (largest difference {}, against {} unexplained)",
                Magnitude(residual),
                Magnitude(unexplained)
            ),
            (Some(number), None) | (None, Some(number)) => {
                write!(f, " (largest difference {})", Magnitude(number))
            }
            (None, None) => Ok(()),
        }?;
        match (self.mutants.as_slice(), self.possible.as_slice()) {
            ([], [first, ..]) => write!(f, "; possibly {}", some_of(&self.possible, first)),
            _ => Ok(()),
        }
    }
}

/// The largest number of possible causes that a diagnosis lists.
const LISTED: usize = 3;

/// Such as `a, b or c`; the `first`, and how many others there are, if they are many.
fn some_of(names: &[String], first: &str) -> String {
    match names {
        many if many.len() > LISTED => format!("{first} or one of {} others", many.len() - 1),
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => first.to_owned(),
    }
}

/// A number that is not negative, displayed with three digits at most: `3.8e-6`, `0.243`, `20.7`.
#[derive(Clone, Copy, Debug)]
pub struct Magnitude(pub f64);

impl fmt::Display for Magnitude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0.0 => f.write_str("0"),
            number if (1e-3..1e5).contains(&number) => {
                let integer_digits = number.log10().floor() as i32 + 1;
                let text = format!("{number:.*}", usize::try_from(3 - integer_digits).unwrap_or(0));
                let is_fraction = text.contains('.');
                f.write_str(if is_fraction {
                    text.trim_end_matches('0').trim_end_matches('.')
                } else {
                    &text
                })
            }
            number => write!(f, "{number:.1e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis(clauses: &[&str], residual: Option<f64>, unexplained: Option<f64>) -> String {
        let mutant = |clause: &&str| ReproducingMutant {
            name: clause.replace(' ', "-"),
            clause: (*clause).to_owned(),
        };
        let mutants = clauses.iter().map(mutant).collect();
        Diagnosis { mutants, residual, unexplained, ..Diagnosis::default() }.to_string()
    }

    #[test]
    fn a_diagnosis_is_one_line_with_its_residual() {
        assert_eq!(
            diagnosis(&["scales are applied along axis 1"], Some(3.81e-6), Some(20.74)),
            "output equals golden if scales are applied along axis 1 (largest difference 3.8e-6, against 20.7 \
             unexplained)"
        );
        assert_eq!(
            diagnosis(&["the bias is dropped", "pads are exchanged"], Some(0.0), None),
            "output equals golden if the bias is dropped; or if pads are exchanged (largest difference 0)"
        );
    }

    #[test]
    fn a_diagnosis_without_mutants_is_unexplained() {
        assert_eq!(diagnosis(&[], None, Some(1234.4)), "unexplained (largest difference 1234)");
        assert_eq!(diagnosis(&[], None, None), "unexplained");
        let refuted = ReproducingMutant { name: "truncated".to_owned(), clause: String::new() };
        let refuted = Diagnosis {
            mutants: vec![refuted],
            residual: Some(0.0),
            unexplained: Some(1.0),
            ..Diagnosis::default()
        };
        assert_eq!(refuted.narrowed_to(&[]).to_string(), "unexplained (largest difference 1)");
    }

    #[test]
    fn possible_causes_are_named() {
        let possibly = |names: &[&str]| {
            let possible = names.iter().map(|name| (*name).to_owned()).collect();
            Diagnosis { unexplained: Some(1.0), possible, ..Diagnosis::default() }.to_string()
        };
        let unexplained = "unexplained (largest difference 1)";
        assert_eq!(possibly(&[]), unexplained);
        assert_eq!(possibly(&["truncated"]), format!("{unexplained}; possibly truncated"));
        assert_eq!(possibly(&["a", "b", "c"]), format!("{unexplained}; possibly a, b or c"));
        assert_eq!(possibly(&["a", "b", "c", "d"]), format!("{unexplained}; possibly a or one of 3 others"));
    }

    #[test]
    fn a_shape_is_explained_without_values() {
        let text = diagnosis(&["output_padding is ignored"], None, None);
        assert_eq!(text, "shape is golden's if output_padding is ignored");
    }

    #[test]
    fn magnitudes_have_three_digits_or_an_exponent() {
        let text = |number: f64| Magnitude(number).to_string();
        assert_eq!(
            [1e-7, 0.01, 0.24321, 1.0, 20.0, 99999.0, 1e5].map(text),
            ["1.0e-7", "0.01", "0.243", "1", "20", "99999", "1.0e5"]
        );
    }
}
