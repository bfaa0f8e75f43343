use std::{io, path::PathBuf};

use twinfer_case::UnfitInputs;
use twinfer_onnx::{DecodeError, InvalidTensor, MAX_MODEL_BYTES};

/// Why inputs for a model cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the inputs in {}: {problem}", path.display())]
pub struct ModelInputsError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Box<InputsProblem>,
}

/// What is wrong with inputs for a model.
#[derive(Debug, thiserror::Error)]
pub enum InputsProblem {
    /// There is nothing at the path.
    #[error("there is no such file or folder")]
    Missing,
    /// The folder cannot be listed.
    #[error("cannot read the folder: {0}")]
    Folder(#[source] io::Error),
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The file is of no kind that holds inputs.
    #[error("give an .npz file, or a folder with an .npy or .pb file for each input")]
    Kind,
    /// A file is not what its name says.
    #[error("{file} is not a TensorProto: {error}")]
    Proto {
        /// The name of the file.
        file: String,
        /// Why not.
        error: DecodeError,
    },
    /// An array of `NumPy` cannot be read.
    #[error("{name}: {error}")]
    Array {
        /// The name of the file, or of the array in an archive.
        name: String,
        /// Why not.
        error: NumpyError,
    },
    /// An archive of `NumPy` cannot be read.
    #[error(transparent)]
    Archive(NumpyError),
    /// A file holds one tensor, and the model has more inputs.
    #[error("it holds one tensor, and the model has {0} inputs")]
    OneTensor(usize),
    /// The model has no input of a name.
    #[error("the model has no input {name:?}: it has {inputs}")]
    NoInput {
        /// The name of the tensor.
        name: String,
        /// The names of the inputs.
        inputs: String,
    },
    /// An array has no name.
    #[error(
        "{name:?} is what NumPy calls an array without a name: the model has {inputs}, so save it as numpy.savez(path, NAME=array)"
    )]
    Unnamed {
        /// What `NumPy` calls it.
        name: String,
        /// The names of the inputs.
        inputs: String,
    },
    /// Two tensors are for one input.
    #[error("{0:?} is given twice")]
    Twice(String),
    /// There is no tensor for these inputs.
    #[error("no tensor is given for {0}")]
    None(String),
    /// A tensor has no elements.
    #[error("{0:?} has no elements")]
    Empty(String),
    /// A tensor is not as the model declares its input.
    #[error(transparent)]
    Unfit(#[from] UnfitInputs),
}

/// Why an array of `NumPy` cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NumpyError {
    /// The bytes are no `.npy` file.
    #[error("it is not an .npy file, or it is cut short")]
    NoArray,
    /// The bytes are no `.npz` file.
    #[error("it is not an .npz file: {0}")]
    NoArchive(#[from] zip::result::ZipError),
    /// An array of an archive cannot be unpacked.
    #[error("{name:?} cannot be unpacked: {error}")]
    Packed {
        /// The name of the array.
        name: String,
        /// Why not.
        error: io::Error,
    },
    /// The arrays of an archive are too large together.
    #[error("its arrays are larger than {} MiB", MAX_MODEL_BYTES >> 20)]
    TooLarge,
    /// The header is not as `NumPy` writes it.
    #[error("its header is unreadable: {0}")]
    Header(String),
    /// The elements are records.
    #[error("it is an array of records")]
    Records,
    /// The elements are of a type that twinfer does not read.
    #[error("its type is {0:?}, which twinfer does not read")]
    Type(String),
    /// The elements do not fit the shape.
    #[error(transparent)]
    Elements(#[from] InvalidTensor),
    /// An array of an archive is damaged.
    #[error("{name:?}: {error}")]
    Array {
        /// The name of the array.
        name: String,
        /// What is wrong with it.
        error: Box<Self>,
    },
}
