//! The GPU backends against real libraries and golden.
//!
//! The libraries are the installed ones, or those that the environment names:
//!
//! ```text
//! TWINFER_TENSORRT=FOLDER TWINFER_ONNXRUNTIME=FILE gpu-…
//! ```
//!
//! The program needs no other file and can be copied to a machine with a GPU. Without a GPU every test is skipped.

#[path = "../common/mod.rs"]
mod common;
mod graphs;
mod onnxruntime;
mod process;
mod subject;
mod tensorrt;
