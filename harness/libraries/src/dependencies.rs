use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::File,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use object::{
    Endianness,
    elf::{DT_NEEDED, FileHeader64},
    read::{ReadCache, elf::FileHeader},
};

use crate::{Installed, Product, product::is_version_of, program::output_within};

/// A shared object that another one needs and the dynamic loader does not find.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The name, such as `libcudart.so.13`.
    pub name: String,
    /// The library that needs it.
    pub needed_by: String,
}

/// The places where the dynamic loader looks for shared objects on this machine.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    folders: Vec<PathBuf>,
    cache: BTreeMap<String, PathBuf>,
}

impl Loader {
    /// The loader of this machine: `LD_LIBRARY_PATH`, the loader's cache and the system's folders.
    pub fn of_this_machine() -> Self {
        let listed = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let system = [
            "/lib64",
            "/usr/lib64",
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib",
            "/usr/lib",
        ];
        let folders = env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
        Self { folders: folders.chain(system.map(PathBuf::from)).collect(), cache: loader_cache() }
    }

    /// The file that a shared object of this name is loaded from; `None` if the loader finds none.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let in_folders = self.folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        in_folders.or_else(|| self.cache.get(name).cloned())
    }

    /// Whether this machine appears to have a CUDA device and its driver. The driver is not called.
    pub fn has_cuda_device(&self) -> bool {
        let nodes = ["/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl"];
        self.find("libcuda.so.1").is_some() && nodes.iter().any(|node| Path::new(node).exists())
    }

    /// The dependencies of `library` that this machine lacks and for which the installation has no stand-in.
    pub fn missing(&self, library: &Installed) -> Vec<Dependency> {
        let wanted = self.wanted(library);
        let stood_in =
            |name: &str| library.stand_ins.as_ref().is_some_and(|folder| folder.join(name).is_file());
        wanted.into_iter().filter(|dependency| !stood_in(&dependency.name)).collect()
    }

    /// The folder to append to `LD_LIBRARY_PATH`; `None` if this machine has every library that has a stand-in.
    pub fn stand_ins(&self, library: &Installed) -> Option<PathBuf> {
        let folder = library.stand_ins.as_ref()?;
        let needed = self.wanted(library).iter().any(|dependency| folder.join(&dependency.name).is_file());
        needed.then(|| folder.clone())
    }

    fn wanted(&self, library: &Installed) -> BTreeSet<Dependency> {
        let linked = library.files.iter().flat_map(|file| {
            let needed_by = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            needed_by_file(file)
                .into_iter()
                .map(move |name| Dependency { name, needed_by: needed_by.clone() })
        });
        let opened = opened_at_run_time(library.product).iter();
        let opened =
            opened.map(|&name| Dependency { name: name.to_owned(), needed_by: library.name.clone() });
        let found = |name: &str| library.directory.join(name).is_file() || self.find(name).is_some();
        linked.chain(opened).filter(|dependency| !found(&dependency.name)).collect()
    }
}

/// Libraries that are opened by name at run time, so that no file lists them as dependencies.
const fn opened_at_run_time(product: Product) -> &'static [&'static str] {
    match product {
        Product::Onnxruntime
        | Product::OnnxruntimeEpOpenVino
        | Product::OnnxruntimeEpTensorrtRtx
        | Product::TensorrtRtx
        | Product::ComputeSanitizer
        | Product::OpenVino
        | Product::OnnxReference
        | Product::Tract
        | Product::Mnn
        | Product::TorchTensorRt => &[],
        Product::OnnxruntimeCuda => &["libcudnn.so.9"],
        Product::OnnxruntimeEpWebGpu => &["libvulkan.so.1"],
        Product::Tensorrt | Product::TensorrtLean => &["libcuda.so.1"],
    }
}

/// The dependencies of `files` that TensorRT's plugins link and no convolution calls.
pub(crate) fn unused(files: &[PathBuf]) -> Vec<String> {
    let linked: BTreeSet<String> = files.iter().flat_map(|file| needed_by_file(file)).collect();
    let is_unused = |name: &String| UNUSED.iter().any(|stem| is_version_of(name, stem));
    linked.into_iter().filter(is_unused).collect()
}

const UNUSED: [&str; 3] = ["libcublas.so", "libcublasLt.so", "libcudnn.so"];

/// How long listing the loader's cache may take.
const LISTING: Duration = Duration::from_secs(30);

fn loader_cache() -> BTreeMap<String, PathBuf> {
    let run = |program| {
        output_within(Command::new(program).arg("-p"), LISTING).ok().filter(|output| output.status.success())
    };
    let listing = run("ldconfig").or_else(|| run("/sbin/ldconfig"));
    let text = listing.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().filter_map(cache_line).collect()
}

/// `libz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1`
fn cache_line(line: &str) -> Option<(String, PathBuf)> {
    let (name, path) = line.trim().split_once(" => ")?;
    let (name, details) = name.split_once(' ')?;
    details.contains("x86-64").then(|| (name.to_owned(), PathBuf::from(path)))
}

/// The `DT_NEEDED` entries of a shared object; empty if the file is not one.
fn needed_by_file(path: &Path) -> Vec<String> {
    File::open(path).ok().and_then(|file| needed(&ReadCache::new(file)).ok()).unwrap_or_default()
}

fn needed(data: &ReadCache<File>) -> object::read::Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let table = header.sections(endian, data)?.dynamic_table(endian, data)?;
    let names = table.iter().filter(|entry| entry.tag == DT_NEEDED);
    names.map(|entry| Ok(String::from_utf8_lossy(table.string(entry)?).into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::cache_line;

    #[test]
    fn loader_cache_line_is_split_into_name_and_path() {
        let line = "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1";
        assert_eq!(
            cache_line(line),
            Some(("libz.so.1".into(), PathBuf::from("/lib/x86_64-linux-gnu/libz.so.1")))
        );
        assert_eq!(cache_line("\tlibz.so.1 (libc6) => /lib/i386-linux-gnu/libz.so.1"), None);
        assert_eq!(cache_line("612 libs found in cache `/etc/ld.so.cache'"), None);
    }
}
