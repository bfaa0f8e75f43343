//! Stand-ins: shared objects that define no symbol and only have a name.
//!
//! TensorRT 8's plugin library links cuBLAS and cuDNN, which a convolution never calls. If a machine has
//! neither, an empty library of that name satisfies the dynamic loader.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::Error;

/// The folder of stand-ins in an installation.
pub(crate) fn folder(installation: &Path) -> PathBuf {
    installation.join("stand-ins")
}

pub(crate) fn write_all(names: &[String], installation: &Path) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let folder = folder(installation);
    fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    names.iter().try_for_each(|name| {
        let path = folder.join(name);
        fs::write(&path, shared_object(name)).map_err(Error::io("write", path))
    })
}

/// Whether the stand-in called `name` in `folder` has the bytes that were written.
pub(crate) fn is_intact(name: &str, folder: &Path) -> bool {
    let expected = shared_object(name);
    let path = folder.join(name);
    fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == expected.len() as u64)
        && fs::read(&path).is_ok_and(|found| found == expected)
}

const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const DYNAMIC_ENTRY: u64 = 16;
const SYMBOL: u64 = 24;
const HASH_TABLE: u64 = 16;
const DYNAMIC_ENTRIES: u64 = 7;

const DYNAMIC: u64 = HEADER + 2 * PROGRAM_HEADER;
const HASHES: u64 = DYNAMIC + DYNAMIC_ENTRIES * DYNAMIC_ENTRY;
const SYMBOLS: u64 = HASHES + HASH_TABLE;
const STRINGS: u64 = SYMBOLS + SYMBOL;

/// The smallest ELF64 shared object for x86-64 that the dynamic loader accepts (System V ABI, chapters 4 and 5).
fn shared_object(soname: &str) -> Vec<u8> {
    let strings = format!("\0{soname}\0");
    let size = STRINGS + strings.len() as u64;
    let mut image = Image(Vec::with_capacity(size as usize));
    image.header();
    image.program_header(PT_LOAD, 0, size);
    image.program_header(PT_DYNAMIC, DYNAMIC, DYNAMIC_ENTRIES * DYNAMIC_ENTRY);
    let dynamic = [
        (DT_HASH, HASHES),
        (DT_STRTAB, STRINGS),
        (DT_SYMTAB, SYMBOLS),
        (DT_STRSZ, strings.len() as u64),
        (DT_SYMENT, SYMBOL),
        (DT_SONAME, 1),
        (DT_NULL, 0),
    ];
    for (tag, value) in dynamic {
        image.words(&[tag, value]);
    }
    image.halves(&[1, 1, 0, 0]); // one bucket, one chain, both empty
    image.words(&[0; SYMBOL as usize / 8]);
    image.0.extend_from_slice(strings.as_bytes());
    image.0
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_SONAME: u64 = 14;

struct Image(Vec<u8>);

impl Image {
    fn header(&mut self) {
        const CLASS_64: u8 = 2;
        const LITTLE_ENDIAN: u8 = 1;
        const VERSION: u8 = 1;
        const TYPE_DYN: u16 = 3;
        const MACHINE_X86_64: u16 = 62;
        self.0.extend_from_slice(b"\x7fELF");
        self.0.extend_from_slice(&[CLASS_64, LITTLE_ENDIAN, VERSION]);
        self.0.extend_from_slice(&[0; 9]);
        self.shorts(&[TYPE_DYN, MACHINE_X86_64]);
        self.halves(&[u32::from(VERSION)]);
        self.words(&[0, HEADER, 0]); // no entry point, the program headers, no section headers
        self.halves(&[0]);
        self.shorts(&[HEADER as u16, PROGRAM_HEADER as u16, 2, 0, 0, 0]);
    }

    fn program_header(&mut self, kind: u32, offset: u64, size: u64) {
        const READABLE_WRITABLE: u32 = 6;
        const PAGE: u64 = 0x1000;
        self.halves(&[kind, READABLE_WRITABLE]);
        let alignment = if kind == PT_LOAD { PAGE } else { 8 };
        self.words(&[offset, offset, offset, size, size, alignment]);
    }

    fn shorts(&mut self, values: &[u16]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn halves(&mut self, values: &[u32]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn words(&mut self, values: &[u64]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{folder, write_all};

    #[test]
    fn dynamic_loader_accepts_a_stand_in() {
        let installation = tempfile::tempdir().unwrap();
        write_all(&["libcublas.so.12".to_owned()], installation.path()).unwrap();
        let listing = Command::new("/bin/true")
            .env("LD_PRELOAD", folder(installation.path()).join("libcublas.so.12"))
            .output()
            .unwrap();
        assert!(listing.status.success());
        assert!(listing.stderr.is_empty(), "{}", String::from_utf8_lossy(&listing.stderr));
    }
}
