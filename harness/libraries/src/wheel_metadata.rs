use std::{fs::File, io::Read, path::Path};

use zip::ZipArchive;

use crate::Error;

/// The name and the version of a wheel, as its metadata states them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WheelMetadata {
    /// The distribution, such as `tensorrt_cu12_libs`.
    pub name: String,
    /// The version, such as `10.7.0`.
    pub version: String,
}

/// The most bytes of metadata; descriptions are long.
const LARGEST_METADATA: u64 = 1 << 20;

impl WheelMetadata {
    /// Reads the metadata of a wheel and compares it with the name of the file: `NAME-VERSION-….whl`.
    pub(crate) fn read(archive: &mut ZipArchive<File>, wheel: &Path) -> Result<Self, Error> {
        let fault = |reason: String| Error::Metadata { path: wheel.to_owned(), reason };
        let stem = wheel.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut parts = stem.split('-');
        let (Some(name), Some(version)) = (parts.next(), parts.next()) else {
            return Err(fault("its name is not NAME-VERSION-TAGS.whl".to_owned()));
        };
        let inside = format!("{name}-{version}.dist-info/METADATA");
        let entry = archive.by_name(&inside).map_err(|_| fault(format!("it holds no {inside}")))?;
        let mut text = Vec::new();
        let read = entry.take(LARGEST_METADATA).read_to_end(&mut text);
        read.map_err(|error| fault(format!("{inside} cannot be read ({error})")))?;
        let stated = Self::parse(&String::from_utf8_lossy(&text));
        let stated = stated.ok_or_else(|| fault(format!("{inside} states no name or no version")))?;
        if normalized(&stated.name) != normalized(name) || stated.version != version {
            return Err(fault(format!("it is {} {}", stated.name, stated.version)));
        }
        if !is_version(&stated.version) {
            return Err(fault(format!("{:?} is no version", stated.version)));
        }
        Ok(stated)
    }

    /// The fields of the metadata's header, which ends at the first empty line.
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let header = text.lines().take_while(|line| !line.trim().is_empty());
            let mut fields = header.filter_map(|line| line.split_once(':'));
            fields.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        Some(Self { name: field("Name")?, version: field("Version")? })
    }
}

/// Names that differ in case and in these separators are the same.
fn normalized(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

/// Whether a text is a version and can be part of a folder's name.
pub(crate) fn is_version(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+!_".contains(c);
    text.starts_with(|c: char| c.is_ascii_digit()) && text.len() <= 64 && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_version_stand_in_the_header() {
        let text = "Metadata-Version: 2.1\nname: tensorrt-cu12-libs\nVersion: 10.7.0\n\nVersion: 9\n";
        let metadata = WheelMetadata::parse(text).unwrap();
        assert_eq!((metadata.name.as_str(), metadata.version.as_str()), ("tensorrt-cu12-libs", "10.7.0"));
        assert_eq!(WheelMetadata::parse("Name: x\n\nVersion: 9\n"), None);
    }

    #[test]
    fn version_cannot_be_a_path() {
        assert!(["10.7.0", "8.6.1.post1", "1.0+cu12"].into_iter().all(is_version));
        assert!(!["", "..", "../x", "1/2", ".1", "1\u{1b}"].into_iter().any(is_version));
    }
}
