//! Inputs as a model declares them.

use std::collections::BTreeMap;

use twinfer_onnx::{DataType, Dim, ValueInfo};

use crate::{Run, TensorSource};

/// Why the inputs of a run do not fit the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitInputs {
    /// There are more or fewer than the model has.
    #[error("the model has {declared} inputs, but {given} were given")]
    Number {
        /// How many the model has.
        declared: usize,
        /// How many there are.
        given: usize,
    },
    /// An input is of another type.
    #[error("{name:?} is {given}, but the model declares {declared}")]
    Type {
        /// The name of the input.
        name: String,
        /// The type that the model declares.
        declared: DataType,
        /// The type that it has.
        given: DataType,
    },
    /// An input has another shape.
    #[error("{name:?} has the shape {given:?}, but the model declares [{declared}]")]
    Shape {
        /// The name of the input.
        name: String,
        /// The shape that the model declares, its dimensions separated by commas.
        declared: String,
        /// The shape that it has.
        given: Vec<usize>,
    },
    /// A symbolic dimension has another extent in an input before.
    #[error(
        "{name:?} has the shape {given:?}, but the model declares [{declared}], and {symbol} is already {extent}"
    )]
    Extent {
        /// The name of the input.
        name: String,
        /// The shape that the model declares, its dimensions separated by commas.
        declared: String,
        /// The shape that it has.
        given: Vec<usize>,
        /// The symbolic dimension.
        symbol: String,
        /// The extent that it has in an input before.
        extent: usize,
    },
}

/// Refuses a run whose inputs are not as a model declares `inputs`.
///
/// # Errors
///
/// If there are more or fewer inputs than declared, or one has another type or shape.
pub fn ensure_declared(inputs: &[ValueInfo], run: &Run) -> Result<(), UnfitInputs> {
    if inputs.len() != run.inputs.len() {
        return Err(UnfitInputs::Number { declared: inputs.len(), given: run.inputs.len() });
    }
    let mut extents = BTreeMap::new();
    inputs.iter().zip(&run.inputs).try_for_each(|(input, given)| ensure_fits(input, given, &mut extents))
}

/// Refuses an input that is not as declared; `extents` are those of symbolic dimensions.
fn ensure_fits<'a>(
    input: &'a ValueInfo,
    given: &TensorSource,
    extents: &mut BTreeMap<&'a str, usize>,
) -> Result<(), UnfitInputs> {
    let (name, given, dtype) = (input.name.clone(), given.shape().to_vec(), given.dtype());
    if dtype != input.dtype {
        return Err(UnfitInputs::Type { name, declared: input.dtype, given: dtype });
    }
    let Some(dims) = &input.shape else { return Ok(()) };
    let declared = dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(", ");
    if dims.len() != given.len() {
        return Err(UnfitInputs::Shape { name, declared, given });
    }
    for (dim, extent) in dims.iter().zip(&given) {
        match dim {
            Dim::Fixed(fixed) if fixed != extent => {
                return Err(UnfitInputs::Shape { name, declared, given });
            }
            Dim::Symbolic(symbol) if !symbol.is_empty() => {
                let known = *extents.entry(symbol).or_insert(*extent);
                if known != *extent {
                    return Err(UnfitInputs::Extent {
                        name,
                        declared,
                        given,
                        symbol: symbol.clone(),
                        extent: known,
                    });
                }
            }
            Dim::Fixed(_) | Dim::Symbolic(_) => {}
        }
    }
    Ok(())
}
