//! Run a model with rten on one set of inputs: `cargo run --release -- MODEL FOLDER INPUT...`
//!
//! An input is `TYPE:SHAPE:FILE`, such as `f32:1x2x3:x.bin`, in the order of the model's inputs; its elements are little-endian. The
//! elements of output K go to FOLDER/K.bin, and its type and shape to standard output. Exit status: 0; 1, rten refuses the model or fails
//! to run it; 2, wrong usage; anything else, it panics.

use std::{env, error::Error, fs, process::ExitCode};

use rten::{Model, Value, ValueOrView};
use rten_tensor::Layout;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [model, folder, inputs @ ..] = &arguments[..] else {
        eprintln!("usage: MODEL FOLDER INPUT...");
        return ExitCode::from(2);
    };
    match run(model, folder, inputs) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(model: &str, folder: &str, inputs: &[String]) -> Result<(), Box<dyn Error>> {
    let model = Model::load(fs::read(model)?)?;
    let values = inputs.iter().map(|input| Ok(ValueOrView::Value(value(input)?)));
    let values = values.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    let fed = model.input_ids().iter().copied().zip(values).collect();
    let outputs = model.run(fed, model.output_ids(), None)?;
    for (place, output) in outputs.into_iter().enumerate() {
        let (name, shape, bytes) = described(output)?;
        fs::write(format!("{folder}/{place}.bin"), bytes)?;
        println!("{name}:{}", shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x"));
    }
    Ok(())
}

/// The value that `TYPE:SHAPE:FILE` describes. rten holds 64-bit integers and booleans as 32-bit integers.
fn value(input: &str) -> Result<Value, Box<dyn Error>> {
    let mut parts = input.splitn(3, ':');
    let (Some(name), Some(shape), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("{input} is not TYPE:SHAPE:FILE").into());
    };
    let extents = shape.split('x').filter(|extent| !extent.is_empty());
    let shape = extents.map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let bytes = fs::read(file)?;
    Ok(match name {
        "f32" => Value::from_shape(&shape, elements(&bytes, f32::from_le_bytes))?,
        "i32" => Value::from_shape(&shape, elements(&bytes, i32::from_le_bytes))?,
        "i64" => {
            let narrow = |wide| i32::try_from(i64::from_le_bytes(wide));
            Value::from_shape(&shape, elements(&bytes, narrow).into_iter().collect::<Result<Vec<_>, _>>()?)?
        }
        "i8" => Value::from_shape(&shape, elements(&bytes, i8::from_le_bytes))?,
        "u8" => Value::from_shape(&shape, bytes)?,
        "bool" => Value::from_shape(&shape, bytes.into_iter().map(i32::from).collect())?,
        _ => return Err(format!("rten has no {name}").into()),
    })
}

fn elements<const N: usize, T>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().copied().map(from).collect()
}

/// The type, the shape and the elements of a value.
fn described(value: Value) -> Result<(&'static str, Vec<usize>, Vec<u8>), Box<dyn Error>> {
    Ok(match value {
        Value::FloatTensor(it) => ("f32", it.shape().to_vec(), bytes(it.into_data(), f32::to_le_bytes)),
        Value::Int32Tensor(it) => ("i32", it.shape().to_vec(), bytes(it.into_data(), i32::to_le_bytes)),
        Value::Int8Tensor(it) => ("i8", it.shape().to_vec(), bytes(it.into_data(), i8::to_le_bytes)),
        Value::UInt8Tensor(it) => ("u8", it.shape().to_vec(), it.into_data()),
        other => return Err(format!("{} is no tensor", other.dtype()).into()),
    })
}

fn bytes<const N: usize, T>(elements: Vec<T>, to: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    elements.into_iter().flat_map(to).collect()
}
