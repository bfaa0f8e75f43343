//! Installs, verifies and finds the libraries of backends.
//!
//! A *library* here is an installed set of shared objects of one product and version: ONNX Runtime, TensorRT or
//! TensorRT-RTX. Nothing is linked, and the build needs none of them. A missing library is a typed error at run time
//! that names the path that was tried and the command that installs it.
//!
//! ```no_run
//! let store = twinfer_libraries::Store::open()?;
//! let library = store.ensure("onnxruntime", &mut |step| eprintln!("{step}"))?;
//! println!("{} {} in {}", library.name, library.version, library.directory.display());
//! # Ok::<(), twinfer_libraries::Error>(())
//! ```

mod archive;
mod dependencies;
mod digest;
mod digest_cache;
mod environment;
mod environment_install;
mod error;
mod folder;
mod install;
mod manifest;
mod package;
mod pinned_package;
mod pip;
mod product;
mod program;
mod python;
mod requirement;
mod search_path;
mod stand_in;
mod step;
mod store;
mod torch_packages;
mod verify;
mod wheel;
#[cfg(test)]
mod wheel_fixture;
mod wheel_metadata;
mod wheel_tree;
mod workspace;

pub use dependencies::{Dependency, Loader};
pub use digest::Digest;
pub use environment::{ENVIRONMENTS, Environment};
pub use error::Error;
pub use manifest::{LibraryFile, Manifest, Origin};
pub use package::{PACKAGES, Package};
pub use pinned_package::PinnedPackage;
pub use pip::pip_version;
pub use product::{Product, is_version_of};
pub use requirement::Requirement;
pub use search_path::{SEARCH_PATH_VARIABLE, search_path};
pub use step::{Release, Step};
pub use store::{Installed, Store};
pub use verify::{Hashing, Verified};
