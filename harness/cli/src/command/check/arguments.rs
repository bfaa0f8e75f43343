use std::path::PathBuf;

use clap::Args;
use twinfer_log::LogLevel;
use twinfer_reports::Format;

use crate::{backends::Backends, formats::formats, limits::LimitArguments, model_inputs::InputArguments};

#[derive(Debug, Args)]
pub struct Arguments {
    /// ONNX model, case folder or case.json; several cases, or a folder of cases, are reported as a table
    #[arg(required = true)]
    pub models: Vec<PathBuf>,
    /// Backends to compare with golden, separated by commas; if golden does not support the model, they are compared with
    /// each other [default: those that showed the finding, what is installed for the GPU, or golden,ort:cpu,trt-rtx]
    #[arg(long, value_name = "A,B")]
    pub backends: Option<Backends>,
    /// Store the observations beside the folder of each case, as NAME.observed.json
    #[arg(long)]
    pub record: bool,
    /// Run nothing; show the observations stored beside each case
    #[arg(long, conflicts_with_all = ["record", "backends"])]
    pub recorded: bool,
    #[command(flatten)]
    pub inputs: InputArguments,
    /// Folder of known findings, or a run directory; repeatable. Findings in it do not count as new
    #[arg(long, value_name = "DIR", conflicts_with_all = ["record", "recorded"])]
    pub known: Vec<PathBuf>,
    /// Exit with 4 if a backend cannot execute the model here, or if a part of it, or an input set, is compared neither with
    /// golden nor with another backend
    #[arg(long, conflicts_with_all = ["record", "recorded"])]
    pub require_complete: bool,
    /// Run directory to write [default: none]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Write debug.log to --out, or to a new run directory, at this level: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<LogLevel>,
    /// Report format
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    pub format: Format,
}
