use std::fmt;

use super::{Family, Product, Version};

/// A method or an enum value that the loaded release lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{version} has no {what}; it is in {since}")]
pub struct Unsupported {
    /// The method or enum value, as C++ spells it.
    pub what: &'static str,
    /// The loaded release.
    pub version: Version,
    /// The releases that have it.
    pub since: Availability,
}

/// For each [`Family`] the number of the first release that has a method or an enum value, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Availability(pub [Option<u32>; Family::ALL.len()]);

impl Availability {
    /// What no release has.
    pub const NOWHERE: Self = Self([None; Family::ALL.len()]);

    /// Whether `version` has it.
    pub fn includes(self, version: Version) -> bool {
        self.0[version.family() as usize].is_some_and(|since| version.number() >= since)
    }

    /// The releases of one product that have it.
    #[must_use]
    pub fn of(self, product: Product) -> Self {
        let mut families = Family::ALL.into_iter();
        Self(self.0.map(|since| {
            let is_of_product = families.next().is_some_and(|family| family.product() == product);
            since.filter(|_| is_of_product)
        }))
    }

    /// Whether every release of `product` that the tables describe has it.
    pub fn is_everywhere(self, product: Product) -> bool {
        let mut families = Family::ALL.into_iter().zip(self.0);
        families.all(|(family, since)| family.product() != product || since == Some(family.first().number()))
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (family, since) in Family::ALL.into_iter().zip(self.0) {
            let Some(number) = since else { continue };
            let since = Version::from_number(number).unwrap_or(family.first());
            write!(f, "{separator}{since} to {}", family.last())?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("no known release") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuilderFlag;

    #[test]
    fn availability_is_told_by_product() {
        let half = BuilderFlag::Fp16.availability();
        assert_eq!(half.of(Product::TensorRtRtx).to_string(), "TensorRT-RTX 1.3.0 to 1.4");
        assert_eq!(half.of(Product::TensorRt).to_string(), "TensorRT 8.4.1 to 9.2, TensorRT 10.0.0 to 10.16");
        assert!(!half.is_everywhere(Product::TensorRt));
        let refit = BuilderFlag::Refit.availability();
        assert!(refit.is_everywhere(Product::TensorRt) && refit.is_everywhere(Product::TensorRtRtx));
        let compatible = BuilderFlag::VersionCompatible.availability();
        assert!(!compatible.is_everywhere(Product::TensorRt));
        let release = |number| Version::from_number(number).unwrap();
        assert!(compatible.includes(release(8600)) && !compatible.includes(release(8503)));
        assert!(compatible.includes(release(10_701)) && !half.includes(release(10_701)));
    }
}
