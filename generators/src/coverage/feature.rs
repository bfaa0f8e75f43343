use std::{collections::BTreeSet, sync::LazyLock};

use twinfer_case::{Case, Expectation};

use super::{attribute::Attribute, columns, columns_of, covered_convolution::CoveredConvolution};

/// What a convolution of a case is like: its operator, and the value that one attribute has there.
///
/// ```
/// use twinfer_generators::{Family, Feature};
///
/// let case = Family::Deconv.cases(1).next().expect("a family has cases without end");
/// let features = Feature::of(&case);
/// assert!(features.iter().any(|one| one.operator() == "ConvTranspose" && one.attribute() == "largest stride"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature {
    operator: usize,
    column: usize,
}

/// The operators, in the order of reports.
const OPERATORS: [&str; 2] = ["Conv", "ConvTranspose"];

static COLUMNS: LazyLock<Vec<(&Attribute, &str)>> = LazyLock::new(|| columns().collect());

impl Feature {
    /// Every feature, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_operator = |operator| (0..COLUMNS.len()).map(move |column| Self { operator, column });
        (0..OPERATORS.len()).flat_map(of_operator)
    }

    /// The features of all convolutions of a case; none if it is invalid or has no convolution.
    pub fn of(case: &Case) -> BTreeSet<Self> {
        if let Expectation::Invalid(_) = case.expectation {
            return BTreeSet::new();
        }
        let convolutions = CoveredConvolution::all(case);
        let features = convolutions.iter().flat_map(|conv| {
            let operator = usize::from(conv.window.transposed);
            columns_of(conv).into_iter().map(move |column| Self { operator, column })
        });
        features.collect()
    }

    /// Its place in [`Feature::all`].
    pub fn index(self) -> usize {
        self.operator * COLUMNS.len() + self.column
    }

    /// The operator: `Conv` or `ConvTranspose`.
    pub const fn operator(self) -> &'static str {
        OPERATORS[self.operator]
    }

    /// The attribute, in words, such as `largest stride`.
    pub fn attribute(self) -> &'static str {
        COLUMNS[self.column].0.name
    }

    /// The attribute's value, in words.
    pub fn value(self) -> &'static str {
        COLUMNS[self.column].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;

    #[test]
    fn convolution_has_one_value_of_every_attribute() {
        for case in Family::Deconv.cases(3).take(200) {
            let of_operator = |operator: &str| {
                Feature::of(&case).into_iter().filter(|one| one.operator() == operator).count()
            };
            let convolutions = CoveredConvolution::all(&case);
            if let [conv] = convolutions.as_slice() {
                let (of, others) = (OPERATORS[usize::from(conv.window.transposed)], "Conv");
                assert_eq!(of_operator(of), crate::coverage::ATTRIBUTES.len());
                assert!(of == others || of_operator(others) == 0);
            }
        }
    }

    #[test]
    fn features_are_listed_in_order() {
        let listed: Vec<_> = Feature::all().collect();
        assert!(listed.is_sorted());
        assert!(listed.iter().enumerate().all(|(place, feature)| feature.index() == place));
    }

    #[test]
    fn invalid_cases_have_no_features() {
        assert!(Family::Invalid.cases(1).take(50).all(|case| Feature::of(&case).is_empty()));
    }
}
