use std::cmp::Ordering;

use twinfer_case::{BackendVersion, Reach, Variant, VariantInfo};

use crate::reach::remark;

/// A variant in one version of its backend: a column of the support map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The variant.
    pub variant: Variant,
    /// The backend's name for itself with its version.
    pub version: BackendVersion,
    /// How far the backend went on the machine of the run.
    pub reach: Reach,
}

/// The option that names a release of a backend.
const VERSION: &str = "version";

impl Column {
    /// The column of a variant of a run.
    pub fn of(info: &VariantInfo) -> Self {
        let description = &info.description;
        let version = BackendVersion::new(&description.name, &description.version);
        Self { variant: info.variant.clone(), version, reach: Reach::from(description.reaches) }
    }

    /// The version, and how far the backend goes if it does not execute.
    pub fn label(&self) -> String {
        format!("{}{}", self.version.version(), remark(self.reach))
    }

    /// The variant whatever the release: columns that share it show how versions of one backend differ.
    pub fn line(&self) -> Variant {
        let mut line = self.variant.clone();
        line.options.remove(VERSION);
        line
    }

    /// The numbers of the version, so that 1.9 comes before 1.10.
    fn numbers(&self) -> Vec<u64> {
        let parts = self.version.version().split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    }
}

impl Ord for Column {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |one: &Self| (one.line().to_string(), one.numbers(), one.version.to_string(), one.reach);
        key(self).cmp(&key(other)).then_with(|| self.variant.to_string().cmp(&other.variant.to_string()))
    }
}

impl PartialOrd for Column {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::Reach;

    use super::Column;

    fn column(variant: &str, version: &str) -> Column {
        Column {
            variant: variant.parse().unwrap(),
            version: format!("ONNX Runtime {version}").into(),
            reach: Reach::Executed,
        }
    }

    #[test]
    fn versions_of_a_variant_stand_together_in_order_of_their_numbers() {
        let mut columns = [
            column("ort:cpu,opt=off", "1.31.1"),
            column("ort:cpu,version=1.22", "1.22.0"),
            column("ort:cpu", "1.31.1"),
            column("ort:cpu,version=1.9", "1.9.0"),
        ];
        columns.sort();
        let order: Vec<_> = columns.iter().map(|column| column.variant.to_string()).collect();
        assert_eq!(order, ["ort:cpu,version=1.9", "ort:cpu,version=1.22", "ort:cpu", "ort:cpu,opt=off"]);
    }
}
