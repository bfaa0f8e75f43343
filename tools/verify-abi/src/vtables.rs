//! The lengths of vtables in a library, for a release whose headers are not at hand.
//!
//! A library without symbols still has run-time type information: names of types, and behind a pointer to each the functions of its
//! vtable. TensorRT implements the interface `IBuilder` by a class `Wrapper<IBuilder, …>`, whose vtable has an entry for each of its
//! methods. Releases of one family whose vtables are of equal length have the same slots, as far as TensorRT only appends to them.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    str::FromStr,
};

use nvinfer::{Version, sys::table};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget,
    elf::{R_X86_64_64, R_X86_64_RELATIVE},
    read::elf::ElfFile64,
};

use crate::{Error, Result};

/// What the name of an implementation begins with, before the name of its interface.
const WRAPPER: &[u8] = b"7WrapperINS_";
/// The offset of the implementation in an object, through which its methods are called.
const IMPLEMENTATION: usize = 8;
/// The distance of two entries of a vtable.
const ENTRY: u64 = 8;

/// A library with the number of its release, as on a command line: `8501=/opt/lib/libnvinfer.so.8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedLibrary {
    /// The release.
    pub version: Version,
    /// The file.
    pub path: std::path::PathBuf,
}

/// How many virtual functions a release has for each interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VtableLengths {
    /// The release.
    pub version: Version,
    /// The length by interface.
    pub lengths: BTreeMap<String, usize>,
}

impl FromStr for NumberedLibrary {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (number, path) = text.split_once('=').ok_or("expected NUMBER=FILE")?;
        let version = number.parse().ok().and_then(Version::from_number);
        let version = version.ok_or_else(|| format!("{number} is no release: {}", Version::SUPPORTED))?;
        Ok(Self { version, path: path.into() })
    }
}

impl VtableLengths {
    /// Reads the library, which is not loaded.
    pub fn read(NumberedLibrary { version, path }: &NumberedLibrary) -> Result<Self> {
        let fault = |reason: String| Error::Library { path: path.clone(), reason };
        let data = fs::read(path).map_err(|error: io::Error| fault(error.to_string()))?;
        let file = ElfFile64::parse(data.as_slice()).map_err(|error| fault(error.to_string()))?;
        Ok(Self { version: *version, lengths: lengths(&file).map_err(|error| fault(error.to_string()))? })
    }

    /// The number of entries that the tables use of the interface, up to the highest slot.
    pub fn used(&self, interface: &str) -> usize {
        let methods = table::methods();
        let own = methods.filter(|method| method.class == interface && method.via == IMPLEMENTATION);
        own.filter_map(|method| method.slot(self.version)).max().map_or(0, |slot| usize::from(slot) + 1)
    }

    /// The interfaces of which the tables use entries that the library does not have.
    pub fn exceeded(&self) -> impl Iterator<Item = &String> {
        self.lengths
            .iter()
            .filter(|(interface, length)| self.used(interface) > **length)
            .map(|(name, _)| name)
    }
}

/// The tables of several releases as Markdown: the length of each vtable, and in parentheses how many entries nvinfer's tables use.
pub fn markdown(releases: &[VtableLengths]) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = releases.iter().map(|release| release.version.to_string());
    let mut text = row(["interface".to_owned()].into_iter().chain(head).collect());
    text += &row(["---".to_owned()].into_iter().chain(releases.iter().map(|_| "---:".to_owned())).collect());
    let mut interfaces: Vec<&String> = releases.iter().flat_map(|release| release.lengths.keys()).collect();
    interfaces.sort();
    interfaces.dedup();
    for interface in interfaces.into_iter().filter(|name| releases.iter().any(|one| one.used(name) > 0)) {
        let cell = |release: &VtableLengths| {
            let length = release.lengths.get(interface);
            length.map_or_else(String::new, |length| format!("{length} ({})", release.used(interface)))
        };
        text += &row([format!("`{interface}`")].into_iter().chain(releases.iter().map(cell)).collect());
    }
    text
}

/// The words of a library that point into it.
struct Pointers {
    targets: HashMap<u64, u64>,
    sources: HashMap<u64, Vec<u64>>,
}

impl Pointers {
    fn of(file: &ElfFile64<'_>) -> object::read::Result<Self> {
        let mut pointers = Self { targets: HashMap::new(), sources: HashMap::new() };
        let symbols = file.dynamic_symbol_table();
        for (place, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let base = match (relocation.flags(), relocation.target()) {
                (RelocationFlags::Elf { r_type: R_X86_64_RELATIVE }, _) => 0,
                (RelocationFlags::Elf { r_type: R_X86_64_64 }, RelocationTarget::Symbol(index)) => {
                    let symbol = symbols.map(|symbols| symbols.symbol_by_index(index)).transpose()?;
                    symbol.map_or(0, |symbol| symbol.address())
                }
                _ => continue,
            };
            let target = base.wrapping_add(relocation.addend().cast_unsigned());
            pointers.targets.insert(place, target);
            pointers.sources.entry(target).or_default().push(place);
        }
        Ok(pointers)
    }

    /// The places that point to `target`.
    fn to(&self, target: u64) -> impl Iterator<Item = u64> {
        self.sources.get(&target).into_iter().flatten().copied()
    }
}

fn lengths(file: &ElfFile64<'_>) -> object::read::Result<BTreeMap<String, usize>> {
    let pointers = Pointers::of(file)?;
    let code =
        file.section_by_name(".text").map_or(0..0, |text| text.address()..text.address() + text.size());
    let names =
        file.section_by_name(".rodata").map(|names| Ok::<_, object::Error>((names.address(), names.data()?)));
    let (start, names) = names.transpose()?.unwrap_or_default();
    let mut lengths = BTreeMap::new();
    for (offset, interface) in wrappers(names) {
        // name <- type (its second word) <- vtable (the word before its functions)
        let types = pointers.to(start + offset).map(|place| place.wrapping_sub(ENTRY));
        for place in types.flat_map(|kind| pointers.to(kind)) {
            let functions = (1..).map(|index| pointers.targets.get(&(place + index * ENTRY)));
            let length = functions.take_while(|target| target.is_some_and(|it| code.contains(it))).count();
            let longest = lengths.entry(interface.clone()).or_insert(0);
            *longest = length.max(*longest);
        }
    }
    Ok(lengths)
}

/// The offsets of the names of implementations, each with its interface: `N8nvinfer17WrapperINS_8IBuilderE…` and `IBuilder`.
fn wrappers(names: &[u8]) -> impl Iterator<Item = (u64, String)> {
    let found = names.windows(WRAPPER.len()).enumerate().filter(|(_, window)| *window == WRAPPER);
    found.filter_map(|(place, _)| {
        let begin = names[..place].iter().rposition(|byte| *byte == 0)? + 1;
        let rest = &names[place + WRAPPER.len()..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length: usize = str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let interface = rest.get(digits..digits.checked_add(length)?)?;
        Some((begin as u64, str::from_utf8(interface).ok()?.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_implementations_are_found_with_their_interface() {
        let names = b"\0N8nvinfer17WrapperINS_8IBuilderENS_7builder7BuilderEEE\0N8nvinfer18IBuilderE\0\
                      7WrapperINS_99IRuntimeE\0";
        let found: Vec<_> = wrappers(names).collect();
        assert_eq!(found, [(1, "IBuilder".to_owned())]);
    }

    #[test]
    fn library_is_given_with_the_number_of_its_release() {
        let library: NumberedLibrary = "8501=/opt/libnvinfer.so.8".parse().unwrap();
        assert_eq!(library.version.to_string(), "TensorRT 8.5.1");
        for wrong in ["/opt/libnvinfer.so.8", "8.5.1=/opt/lib", "7000=/opt/lib"] {
            assert!(wrong.parse::<NumberedLibrary>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn table_that_uses_more_than_a_library_has_is_named() {
        let version = Version::from_number(8600).unwrap();
        let with = |length| VtableLengths { version, lengths: [("IRuntime".to_owned(), length)].into() };
        assert_eq!(with(23).exceeded().count(), 0);
        assert_eq!(with(21).exceeded().collect::<Vec<_>>(), ["IRuntime"]);
        assert_eq!(
            markdown(&[with(23)]),
            "| interface | TensorRT 8.6.0 |\n| --- | ---: |\n| `IRuntime` | 23 (22) |\n"
        );
    }
}
