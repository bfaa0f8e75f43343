//! TensorRT and TensorRT-RTX at run time: no headers, no C++ compiler, no version fixed at compile time.
//!
//! A one-layer network, built and run (`cargo run --example relu -- FOLDER`):
//!
//! ```no_run
#![doc = include_str!("../examples/relu.rs")]
//! ```
//!
//! # Ownership
//!
//! [`Library::load`] opens one release, which stays loaded until the process ends. Everything else borrows its maker, so
//! that the compiler refuses what TensorRT leaves undefined: a network cannot outlive its builder, a tensor its
//! network, an execution context its engine. A network keeps its weights, and the parser that filled it, alive.
//!
//! ```compile_fail,E0505
//! # fn main() -> Result<(), nvinfer::Error> {
//! let builder = nvinfer::Library::load("lib")?.create_builder()?;
//! let network = builder.create_network(nvinfer::Typing::Strong)?;
//! drop(builder); // the network still borrows it
//! println!("{:?}", network.name());
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0505
//! # fn main() -> Result<(), nvinfer::Error> {
//! # let builder = nvinfer::Library::load("lib")?.create_builder()?;
//! let network = builder.create_network(nvinfer::Typing::Strong)?;
//! let x = network.add_input("x", nvinfer::DataType::Float, &[1, 1, 4, 4])?;
//! drop(network); // the tensor still borrows it
//! println!("{:?}", x.name());
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0505
//! # fn main() -> Result<(), nvinfer::Error> {
//! # let plan = Vec::new();
//! let runtime = nvinfer::Library::load("lib")?.create_runtime()?;
//! let engine = runtime.deserialize(&plan)?;
//! let context = engine.create_execution_context()?;
//! drop(engine); // the context still borrows it
//! println!("{:?}", context.name());
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0277
//! fn other_thread<T: Send>(_: T) {}
//! # fn main() -> Result<(), nvinfer::Error> {
//! # let builder = nvinfer::Library::load("lib")?.create_builder()?;
//! let network = builder.create_network(nvinfer::Typing::Strong)?;
//! other_thread(network); // networks are not thread-safe
//! # Ok(()) }
//! ```
//!
//! # Device memory
//!
//! This crate allocates none. The caller passes addresses and streams to two `unsafe` functions,
//! [`ExecutionContext::set_tensor_address`] and [`ExecutionContext::enqueue`], and creates them with `cudarc` or any
//! other CUDA binding.
//!
//! # Releases
//!
#![doc = concat!("Supported are ", "TensorRT 8.4 to 9.2, 10.0 to 10.16, 11.0 to 11.4 and TensorRT-RTX 1.3 to 1.7.")]
//! `docs/generated/abi-coverage.md` lists the methods that were run in a real library, and those that only
//! headers or tables vouch for. A call that a release lacks fails with [`Unsupported`], which names the releases that
//! have it. [`sys`] is the raw layer with the tables; the command `verify-abi` compares them with a folder of headers.
#![expect(unsafe_code, reason = "this crate is the boundary to a C++ library")]

mod builder;
mod config;
mod driver;
mod engine;
mod error;
mod host_memory;
mod layer;
mod library;
mod locate;
mod logger;
mod network;
mod owned;
mod parser;
mod plan;
mod profile;
mod runtime;
pub mod sys;
mod tensor;
mod timing_cache;
mod weights;

pub use builder::Builder;
pub use config::BuilderConfig;
pub use engine::{Engine, EngineInspector, ExecutionContext, IoTensor};
pub use error::{Error, ParseFailure, ParserError, Result};
pub use host_memory::HostMemory;
pub use layer::{
    Activation, Cast, Concatenation, ConcreteLayer, Constant, Convolution, Deconvolution, Dequantize,
    ElementWise, Layer, Pooling, Quantize, Scale, Shuffle,
};
pub use library::Library;
pub use logger::{Message, Sink};
pub use network::{NetworkDefinition, Typing};
pub use parser::OnnxParser;
pub use profile::OptimizationProfile;
pub use runtime::Runtime;
pub use sys::{
    Availability, Family, Product, UnknownValue, Unsupported, Version,
    enums::{
        ActivationType, BuilderFlag, ComputeCapability, DataType, ElementWiseOperation,
        LayerInformationFormat, LayerType, MemoryPoolType, OptProfileSelector, ParserErrorCode, PoolingType,
        ProfilingVerbosity, ScaleMode, Severity, TacticSource, TensorIOMode, TensorLocation,
    },
};
pub use tensor::Tensor;
pub use timing_cache::TimingCache;
pub use weights::Weights;
