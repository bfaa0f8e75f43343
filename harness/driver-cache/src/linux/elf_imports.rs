//! The imports of an ELF file.

use std::{fs::File, io, path::Path};

use object::{
    Endianness,
    elf::{FileHeader64, PT_LOAD, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, SHT_DYNSYM},
    read::{
        ReadCache,
        elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym},
    },
};

/// Where a shared object for x86-64 holds the addresses of one imported function, according to its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imports {
    /// The virtual address of the file's first byte.
    pub first: u64,
    /// The virtual addresses of the GOT entries that the dynamic loader fills with the function's address.
    pub slots: Vec<u64>,
}

/// Reads where the shared object at `path` holds the addresses of the function `name`. Without such an import there are no
/// slots.
pub fn imports_of(path: &Path, name: &str) -> io::Result<Imports> {
    read(&ReadCache::new(File::open(path)?), name.as_bytes()).map_err(io::Error::other)
}

fn read(data: &ReadCache<File>, name: &[u8]) -> object::read::Result<Imports> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let mut segments = header.program_headers(endian, data)?.iter();
    let first = segments.find(|it| it.p_type(endian) == PT_LOAD && it.p_offset(endian) == 0);
    let first = first.map_or(0, |segment| segment.p_vaddr(endian));
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM)?;
    let mut slots = Vec::new();
    for section in sections.iter() {
        let Some((relocations, link)) = section.rela(endian, data)? else { continue };
        if link != symbols.section() {
            continue;
        }
        for relocation in relocations {
            if !matches!(relocation.r_type(endian, false), R_X86_64_JUMP_SLOT | R_X86_64_GLOB_DAT) {
                continue;
            }
            let Some(index) = relocation.symbol(endian, false) else { continue };
            if symbols.symbol(index)?.name(endian, symbols.strings())? == name {
                slots.push(relocation.r_offset(endian));
            }
        }
    }
    Ok(Imports { first, slots })
}
