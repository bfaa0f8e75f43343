use std::fmt;

use crate::{Environment, PACKAGES, Package, Product, wheel_metadata::is_version};

/// A release of a product, as pip writes it: `onnxruntime==1.22.1`.
///
/// Fewer numbers than a release has stand for all releases that begin with them: `onnxruntime==1.22`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The product.
    pub product: Product,
    /// The beginning of the version, such as `1.22`.
    pub version: String,
}

impl Requirement {
    /// Reads `NAME==VERSION`, where the name is that of a product or of its package on PyPI; `None` if it is neither, or
    /// if the product is a Python environment, of which only the pinned release can be installed.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, version) = text.split_once("==")?;
        let of_distribution = || PACKAGES.iter().find(|package| package.distribution == name);
        let product = Product::named(name).or_else(|| of_distribution().map(|package| package.product))?;
        let is_environment = Environment::of(product).is_some();
        Self::of(product, version).filter(|_| !is_environment)
    }

    /// The release that `PRODUCT-VERSION` names, as installations are called: `onnxruntime-1.22`.
    pub(crate) fn of_installation(name: &str) -> Option<Self> {
        let (product, version) = name.rsplit_once('-')?;
        Self::of(Product::named(product)?, version)
    }

    fn of(product: Product, version: &str) -> Option<Self> {
        is_version(version).then(|| Self { product, version: version.to_owned() })
    }

    /// Whether `version` is the required one or begins with it, number by number.
    pub(crate) fn is_met_by(&self, version: &str) -> bool {
        let rest = version.strip_prefix(self.version.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The pinned package of this release; `None` if there is none.
    pub(crate) fn pinned(&self) -> Option<&'static Package> {
        PACKAGES.iter().find(|package| package.product == self.product && self.is_met_by(package.version))
    }

    /// What pip is asked for.
    pub(crate) fn for_pip(&self) -> String {
        let package = PACKAGES.iter().find(|package| package.product == self.product);
        let distribution = package.map_or("", |package| package.distribution);
        let is_partial = self.version.split('.').count() < 3;
        format!("{distribution}=={}{}", self.version, if is_partial { ".*" } else { "" })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=={}", self.product, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<String> {
        Requirement::parse(text).map(|requirement| requirement.for_pip())
    }

    #[test]
    fn release_is_named_by_product_or_distribution() {
        assert_eq!(parsed("onnxruntime==1.22.1").as_deref(), Some("onnxruntime==1.22.1"));
        assert_eq!(parsed("onnxruntime-cuda==1.22").as_deref(), Some("onnxruntime-gpu==1.22.*"));
        assert_eq!(parsed("onnxruntime-gpu==1.22").as_deref(), Some("onnxruntime-gpu==1.22.*"));
        assert_eq!(parsed("tensorrt-rtx==1.4.0.76").as_deref(), Some("tensorrt-rtx-cu13-libs==1.4.0.76"));
        for other in [
            "onnxruntime",
            "numpy==2",
            "onnx-reference==1.20.0",
            "onnxruntime==",
            "onnxruntime==../x",
            "onnxruntime==--help",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn fewer_numbers_stand_for_all_releases_that_begin_with_them() {
        let requirement = Requirement::of_installation("onnxruntime-1.2").unwrap();
        assert!(requirement.is_met_by("1.2") && requirement.is_met_by("1.2.5"));
        assert!(!requirement.is_met_by("1.22.1") && !requirement.is_met_by("1"));
    }

    #[test]
    fn pinned_release_is_its_package() {
        let pinned = |text| Requirement::parse(text).unwrap().pinned().map(|package| package.name);
        assert_eq!(pinned("onnxruntime==1.31.1"), Some("onnxruntime"));
        assert_eq!(pinned("tensorrt==8.5"), Some("tensorrt-8.5"));
        assert_eq!(pinned("onnxruntime==1.22"), None);
    }
}
