//! The memory map of this process.

use std::{fs, io, ops::Range, path::Path};

/// A mapped range of this process's addresses: a line of `/proc/self/maps` (see `proc_pid_maps(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The addresses.
    pub addresses: Range<u64>,
    /// Whether the process may write to the range.
    pub writable: bool,
    /// The offset of the first byte in the file.
    pub offset: u64,
    /// The file that is mapped; empty for memory without a file.
    pub path: String,
}

impl Mapping {
    /// Reads all mappings of this process.
    pub fn all() -> io::Result<Vec<Self>> {
        Ok(fs::read_to_string("/proc/self/maps")?.lines().filter_map(Self::parse).collect())
    }

    /// Whether the range maps the file at `path`.
    pub fn is_of(&self, path: &Path) -> bool {
        Path::new(&self.path) == path
    }

    /// Parses a line such as `7f2a1000-7f2a3000 rw-p 00001000 08:01 1234    /usr/lib/libz.so.1`.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let permissions = fields.next()?;
        let offset = fields.next()?;
        let path = fields.nth(2)?.trim_start();
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Self {
            addresses: number(start)?..number(end)?,
            writable: permissions.as_bytes().get(1) == Some(&b'w'),
            offset: number(offset)?,
            path: path.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::Mapping;

    #[test]
    fn line_parses_into_addresses_permission_offset_and_path() {
        let line = "7f2a1000-7f2a3000 rw-p 00001000 08:01 1234                       /lib/a b.so";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!(mapping.addresses, 0x7f2a_1000..0x7f2a_3000);
        assert!(mapping.writable);
        assert_eq!((mapping.offset, mapping.path.as_str()), (0x1000, "/lib/a b.so"));
        let anonymous = Mapping::parse("7f2a1000-7f2a3000 r--p 00000000 00:00 0 ").unwrap();
        assert_eq!((anonymous.writable, anonymous.path.as_str()), (false, ""));
    }

    #[test]
    fn function_lies_in_a_mapping_of_this_executable() {
        let function = function_lies_in_a_mapping_of_this_executable as fn() as usize as u64;
        let mappings = Mapping::all().unwrap();
        let mapping = mappings.iter().find(|mapping| mapping.addresses.contains(&function)).unwrap();
        assert!(mapping.is_of(&env::current_exe().unwrap()) && !mapping.writable);
    }
}
