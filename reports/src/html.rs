//! The report as a web page: one file with everything in it, which loads nothing and runs nothing but its own script.
//!
//! Everything can be read without the script, which only filters findings and opens the one that the address names.

mod address;
mod comparison;
mod course;
mod evidence;
mod filters;
mod finding;
mod graph;
mod index;
mod layout;
mod number;
mod overview;
mod page;
mod picture;
mod policy;
mod results;
mod settings;
mod space;
mod values;
mod words;

pub(crate) use address::of_file;
pub use evidence::RunFolder;
pub use page::WebPage;
pub(crate) use policy::policy;
