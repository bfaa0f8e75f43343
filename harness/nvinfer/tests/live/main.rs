//! The safe layer against real libraries.
//!
//! Each test runs in a child process per installed release, and prints `skipped: …` if there is none. With `NVINFER_LIBRARY`
//! set, the tests run in this process against the release in that folder. The program needs no other file and can be copied to a
//! machine with a GPU:
//!
//! ```text
//! NVINFER_LIBRARY=FOLDER NVINFER_CALLS=FILE live-… --test-threads=1
//! ```
//!
//! On one thread, all tests share one builder, which takes seconds to create; `NVINFER_CALLS` names a file for the list of the
//! methods that they call.
#![expect(unsafe_code, reason = "device addresses and streams come from outside")]

mod config;
mod device;
mod engine;
mod loading;
mod logger;
mod memory;
mod models;
mod network;
mod parser;
mod process;
