//! Inputs that a user gives for a model: a folder of arrays and tensors, and an archive of arrays.
#![no_main]

use libfuzzer_sys::fuzz_target;
use twinfer_fuzz::Folder;
use twinfer_onnx::{DataType, Dim, ValueInfo};
use twinfer_store::read_model_inputs;

thread_local! {
    static FOLDER: Folder = Folder::new(&["inputs/x.npy", "inputs/input_1.pb", "inputs.npz"]);
}

/// An input of two dimensions, the first of which is symbolic.
fn declared(name: &str) -> ValueInfo {
    let shape = Some(vec![Dim::Symbolic("N".to_owned()), Dim::Fixed(2)]);
    ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape }
}

fuzz_target!(|input: &[u8]| FOLDER.with(|folder| {
    folder.fill(input);
    let inputs = [declared("x"), declared("y")];
    for path in ["inputs", "inputs.npz"] {
        if let Ok(runs) = read_model_inputs(&[folder.path().join(path)], &inputs) {
            let given = &runs.first().expect("a folder or an archive is a run").inputs;
            assert_eq!(given.len(), inputs.len());
            let extents = given.iter().map(|tensor| tensor.shape()[0]);
            assert!(extents.clone().all(|extent| Some(extent) == extents.clone().next()), "N is one extent");
            for tensor in given {
                assert_eq!((tensor.dtype(), tensor.shape()[1]), (DataType::Float, 2));
                assert_eq!(tensor.tensor().expect("it is data").to_f64().len(), 2 * tensor.shape()[0]);
            }
        }
    }
}));
