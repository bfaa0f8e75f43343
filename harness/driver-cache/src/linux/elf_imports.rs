use std::{fs::File, io, path::Path};

use object::{
    Endianness,
    elf::{FileHeader64, PT_LOAD, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, SHT_DYNSYM},
    read::{
        ReadCache,
        elf::{FileHeader, ProgramHeader, Rela, SectionHeader, Sym},
    },
};

/// Where a shared object for x86-64 keeps the addresses of a function that it imports, as its file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imports {
    /// Virtual address of the file's first byte.
    pub first: u64,
    /// Virtual addresses of the slots that the dynamic loader fills with the function's address.
    pub slots: Vec<u64>,
}

/// The slots of function `name` in the shared object at `path`; none where it does not import it.
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
