//! Inputs that a user gives for a model: an `.npz` file, or a folder with a file for each input, as `NumPy` or the tests of ONNX write them.

mod error;
mod numpy;

use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{Run, TensorSource, ensure_declared, read_file};
use twinfer_onnx::{MAX_MODEL_BYTES, Tensor, ValueInfo};

pub use self::error::{InputsProblem, ModelInputsError, NumpyError};
use crate::data_sets::data_sets;

/// The prefix of a tensor that is named by the place of its input.
const PLACE: &str = "input_";
/// The prefix of the names that `numpy.savez` gives arrays without one.
const UNNAMED: &str = "arr_";
/// The prefix of the files with expected outputs in the tests of ONNX.
const OUTPUT: &str = "output_";

/// The runs that `paths` hold for a model with these `inputs`: one for each file or folder, and one for each data set in a folder of data sets.
///
/// # Errors
///
/// If something cannot be read, is for no input, or is not as the model declares its input.
pub fn read_model_inputs(paths: &[PathBuf], inputs: &[ValueInfo]) -> Result<Vec<Run>, ModelInputsError> {
    let mut runs = Vec::new();
    for path in paths {
        for set in sets(path).map_err(|problem| unreadable(path, problem))? {
            runs.push(run(&set, inputs).map_err(|problem| unreadable(&set, problem))?);
        }
    }
    Ok(runs)
}

fn unreadable(path: &Path, problem: InputsProblem) -> ModelInputsError {
    ModelInputsError { path: path.to_owned(), problem: Box::new(problem) }
}

/// The data sets in a folder; the path itself if it is none that holds data sets.
fn sets(path: &Path) -> Result<Vec<PathBuf>, InputsProblem> {
    if !path.exists() {
        return Err(InputsProblem::Missing);
    }
    let sets = if path.is_dir() { data_sets(path).map_err(InputsProblem::Folder)? } else { Vec::new() };
    Ok(if sets.is_empty() { vec![path.to_owned()] } else { sets })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, InputsProblem> {
    let entries = fs::read_dir(folder).map_err(InputsProblem::Folder)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<_> = paths.collect::<Result<_, _>>().map_err(InputsProblem::Folder)?;
    paths.sort_unstable();
    Ok(paths)
}

fn run(set: &Path, inputs: &[ValueInfo]) -> Result<Run, InputsProblem> {
    let tensors = assigned(tensors(set, inputs)?, inputs)?;
    if let Some((input, _)) = inputs.iter().zip(&tensors).find(|(_, tensor)| tensor.is_empty()) {
        return Err(InputsProblem::Empty(input.name.clone()));
    }
    let run = Run { inputs: tensors.into_iter().map(TensorSource::Data).collect() };
    ensure_declared(inputs, &run)?;
    Ok(run)
}

/// The tensors of a data set by name.
fn tensors(set: &Path, inputs: &[ValueInfo]) -> Result<Vec<(String, Tensor)>, InputsProblem> {
    if set.is_dir() {
        let mut tensors = Vec::new();
        for path in files(set)? {
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            let is_output = name.starts_with(OUTPUT) && inputs.iter().all(|input| input.name != name);
            if !is_output && let Some((own_name, tensor)) = tensor(&path)? {
                let own_name = own_name.filter(|own| inputs.iter().any(|input| input.name == *own));
                tensors.push((own_name.unwrap_or_else(|| name.to_owned()), tensor));
            }
        }
        return Ok(tensors);
    }
    if set.extension().is_some_and(|extension| extension == "npz") {
        return numpy::arrays(&bytes(set)?).map_err(InputsProblem::Archive);
    }
    match (tensor(set)?, inputs) {
        (Some((_, tensor)), [only]) => Ok(vec![(only.name.clone(), tensor)]),
        (Some(_), _) => Err(InputsProblem::OneTensor(inputs.len())),
        (None, _) => Err(InputsProblem::Kind),
    }
}

/// The tensor in a file, with the name that the file gives it, if it does; `None` if the file is of another kind.
fn tensor(path: &Path) -> Result<Option<(Option<String>, Tensor)>, InputsProblem> {
    let file = path.file_name().unwrap_or_default().display().to_string();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => {
            let array =
                numpy::array(&bytes(path)?).map_err(|error| InputsProblem::Array { name: file, error })?;
            Ok(Some((None, array)))
        }
        Some("pb") => {
            let named = Tensor::decode_named_proto(&bytes(path)?);
            let (name, tensor) = named.map_err(|error| InputsProblem::Proto { file, error })?;
            Ok(Some((Some(name), tensor)))
        }
        _ => Ok(None),
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, InputsProblem> {
    read_file(path, MAX_MODEL_BYTES as u64)
        .map_err(|error| InputsProblem::File { path: path.to_owned(), error })
}

/// The tensors in the order of the inputs, which name them, or whose places do: `input_0`.
fn assigned(tensors: Vec<(String, Tensor)>, inputs: &[ValueInfo]) -> Result<Vec<Tensor>, InputsProblem> {
    let mut places: Vec<Option<Tensor>> = vec![None; inputs.len()];
    for (name, tensor) in tensors {
        let by_name = inputs.iter().position(|input| input.name == name);
        let by_place = || name.strip_prefix(PLACE)?.parse::<usize>().ok();
        let place = by_name.or_else(by_place).and_then(|place| places.get_mut(place));
        let Some(place) = place else {
            let inputs = listed(inputs.iter());
            let is_unnamed = name.strip_prefix(UNNAMED).is_some_and(|number| number.parse::<u64>().is_ok());
            return Err(if is_unnamed {
                InputsProblem::Unnamed { name, inputs }
            } else {
                InputsProblem::NoInput { name, inputs }
            });
        };
        if place.replace(tensor).is_some() {
            return Err(InputsProblem::Twice(name));
        }
    }
    let missing: Vec<_> =
        inputs.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(input, _)| input).collect();
    if !missing.is_empty() {
        return Err(InputsProblem::None(listed(missing.into_iter())));
    }
    Ok(places.into_iter().flatten().collect())
}

fn listed<'a>(inputs: impl Iterator<Item = &'a ValueInfo>) -> String {
    inputs.map(|input| format!("{:?}", input.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{DataType, Dim};

    use super::*;

    fn input(name: &str, dims: &[&str]) -> ValueInfo {
        let dim = |text: &&str| text.parse().map_or_else(|_| Dim::Symbolic((*text).to_owned()), Dim::Fixed);
        let shape = Some(dims.iter().map(dim).collect());
        ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape }
    }

    fn zeros(shape: &[usize]) -> Tensor {
        Tensor::from_f64(DataType::Float, shape.to_vec(), &vec![0.0; shape.iter().product()]).unwrap()
    }

    fn given(tensors: &[(&str, &[usize])], inputs: &[ValueInfo]) -> Result<Vec<Vec<usize>>, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, shape) in tensors {
            fs::write(folder.path().join(format!("{name}.pb")), zeros(shape).encode_proto("")).unwrap();
        }
        let shapes = |run: Run| run.inputs.iter().map(|input| input.shape().to_vec()).collect();
        run(folder.path(), inputs).map(shapes).map_err(|problem| problem.to_string())
    }

    #[test]
    fn tensors_are_named_by_their_input_or_its_place() {
        let inputs = [input("b", &["N", "2"]), input("a", &["N"])];
        let expected = vec![vec![3, 2], vec![3]];
        assert_eq!(given(&[("a", &[3]), ("b", &[3, 2])], &inputs), Ok(expected.clone()));
        assert_eq!(
            given(&[("input_0", &[3, 2]), ("input_1", &[3]), ("output_0", &[9])], &inputs),
            Ok(expected)
        );
    }

    /// ONNX's own tests number inputs by place, and tensors know their names.
    #[test]
    fn tensor_goes_to_the_input_that_it_names() {
        let inputs = [input("input_1", &["2"]), input("input_0", &["3"])];
        let folder = tempfile::tempdir().unwrap();
        for (place, input) in inputs.iter().enumerate() {
            let bytes = zeros(&[2 + place]).encode_proto(&input.name);
            fs::write(folder.path().join(format!("input_{place}.pb")), bytes).unwrap();
        }
        assert!(run(folder.path(), &inputs).is_ok());
    }

    #[test]
    fn input_that_is_called_as_an_output_is_read() {
        assert_eq!(given(&[("output_0", &[3])], &[input("output_0", &["N"])]), Ok(vec![vec![3]]));
    }

    #[test]
    fn inputs_that_do_not_fit_are_refused() {
        let inputs = [input("x", &["N", "2"]), input("y", &["N"])];
        let refused = |tensors: &[(&str, &[usize])]| given(tensors, &inputs).unwrap_err();
        assert_eq!(refused(&[("x", &[3, 2])]), r#"no tensor is given for "y""#);
        assert_eq!(refused(&[("x", &[3, 2]), ("z", &[3])]), r#"the model has no input "z": it has "x", "y""#);
        assert_eq!(refused(&[("x", &[3, 2]), ("y", &[3]), ("input_1", &[3])]), r#""y" is given twice"#);
        assert_eq!(
            refused(&[("x", &[3, 4]), ("y", &[3])]),
            r#""x" has the shape [3, 4], but the model declares [N, 2]"#
        );
        assert_eq!(
            refused(&[("x", &[3, 2]), ("y", &[4])]),
            r#""y" has the shape [4], but the model declares [N], and N is already 3"#
        );
        assert_eq!(refused(&[("x", &[0, 2]), ("y", &[0])]), r#""x" has no elements"#);
    }
}
