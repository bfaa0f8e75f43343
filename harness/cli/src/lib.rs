//! The `twinfer` command line: parses the arguments, runs one command, and returns an exit code.
//!
//! Each command is one file (or folder) under `command/`. All commands share one error type, [`Failure`], which is a
//! one-line message with its exit code, and one list of exit codes, [`Exit`]. Results go to standard output; progress and
//! errors go to standard error.
//!
//! ```
//! use twinfer_cli::{Exit, Failure};
//!
//! let failure = Failure::usage("cannot read model.onnx: give an ONNX model");
//! assert_eq!(failure.exit, Exit::Usage);
//! assert_eq!(failure.exit.code(), 2);
//! ```

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod asked;
mod attribute_coverage;
mod backends;
mod campaign;
mod command;
mod continuation;
mod doubts;
mod exit;
mod failure;
mod finding_folder;
mod formats;
mod idle_gpus;
mod installation;
mod interruption;
mod issues;
mod known;
mod limits;
mod machine;
mod model_inputs;
mod mps;
mod obstacle;
mod option_sample;
mod out_folder;
mod output;
mod page;
mod paint;
mod provision;
mod recorded;
mod regenerated;
mod resumption;
mod run_log;
mod sanitizer;
mod targets;
mod terminal;
mod trust;
mod whole_number;
mod worker;

use std::process::ExitCode;

use clap::Parser;

use output::print_note;
use twinfer_case::printable_message;
use twinfer_reports::Styled;

pub use exit::Exit;
pub use failure::Failure;
pub use obstacle::Obstacle;

/// Differential conformance testing of neural-network inference backends.
#[derive(Debug, Parser)]
#[command(
    name = "twinfer",
    bin_name = "twinfer",
    version,
    about,
    propagate_version = true,
    max_term_width = 100,
    after_help = BACKENDS_AND_EXIT_CODES
)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
    #[command(flatten)]
    terminal: terminal::Terminal,
}

const BACKENDS_AND_EXIT_CODES: &str = "\
Backends:
  golden        Exact reference implementation that decides who is wrong
  ort:cpu       ONNX Runtime with the CPU execution provider
  ort:cuda      ONNX Runtime with the CUDA execution provider
  ort:ep=NAME   ONNX Runtime with a plugin execution provider (openvino, nv-tensorrt-rtx or
                webgpu), in the program twinfer-ort-plugins (harness/worker)
  trt           TensorRT through its ONNX parser
  trt-api       TensorRT through its network API, layer by layer
  trt-rtx       TensorRT-RTX through its ONNX parser
  openvino      OpenVINO with its CPU plugin, in Python
  onnx-reference
                Reference evaluator of the Python package onnx
  tract         tract, in Python
  mnn           MNN with its converter, in Python
  torch-tensorrt
                Torch-TensorRT, or PyTorch alone with ir=eager, in Python
  rten          rten, in the program twinfer-rten (adapters/rten)
  external:CMD  Any program that speaks the worker protocol

Exit codes:
  0  Every backend was compared and conforms; for `replay`, the recorded observation recurred
  1  New findings, or divergences not investigated in time; for `replay`, something else happened
  2  Wrong usage or input
  3  The environment or twinfer itself failed
  4  At least one backend compared nothing
  5  Ended early: a signal, or the last device was lost
If several apply, the order of precedence is 2, 3, 5, 1, 4. `report` exits 0 unless 2 or 3.";

/// Runs the command that the process arguments name.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(help) if !help.use_stderr() => {
            let text = help.render();
            let shown = if console::colors_enabled() { text.ansi().to_string() } else { text.to_string() };
            output::write(&shown);
            return Exit::Conforms.into();
        }
        Err(wrong) => wrong.exit(),
    };
    arguments.terminal.apply();
    let exit = arguments.command.run().unwrap_or_else(|failure| {
        let message = printable_message(&failure.to_string());
        print_note(&(paint::error("error:") + " " + Styled::plain(message)));
        failure.exit
    });
    exit.into()
}
