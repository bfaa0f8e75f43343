//! The vtable slot, in each ABI family, of every method that the safe layer uses.
//!
//! Each method has one row; [`methods`] lists them all, for `verify-abi` and for the coverage table in the docs.

mod builder;
mod layer;
mod network;
mod parser;
mod runtime;

pub use builder::{IBuilder, IBuilderConfig, IHostMemory, IOptimizationProfile, ITimingCache};
pub use layer::{
    IActivationLayer, ICastLayer, IConcatenationLayer, IConstantLayer, IConvolutionLayer,
    IDeconvolutionLayer, IDequantizeLayer, IElementWiseLayer, ILayer, IPoolingLayer, IQuantizeLayer,
    IScaleLayer, IShuffleLayer,
};
pub use network::{INetworkDefinition, ITensor};
pub use parser::{IParser, IParserError};
pub use runtime::{ICudaEngine, IEngineInspector, IExecutionContext, IRuntime};

use super::{Availability, method::Method};

/// Every method of every table.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    [builder::METHODS, layer::METHODS, network::METHODS, parser::METHODS, runtime::METHODS]
        .into_iter()
        .flatten()
        .copied()
}

/// The releases that have a method, which is given with its class: `ILayer::setPrecision`.
pub fn releases_with(path: &str) -> Availability {
    let method = methods().find(|method| method.path == path);
    method.map_or(Availability::NOWHERE, Method::availability)
}
