//! QuantizeLinear adds the zero point to a saturated 32-bit integer, which overflows
//!
//! Exit status: 1, or 101 after a panic, the bug shows; 0, it does not.

use rten::{Model, Value};

fn main() {
    let model = Model::load_file(concat!(env!("CARGO_MANIFEST_DIR"), "/model.onnx"));
    let result = model.map_err(|error| error.to_string()).and_then(|model| {
        let elements = vec![10000000000.0];
        let input = Value::from_shape(&[1], elements).unwrap();
        let run = model.run(vec![(model.input_ids()[0], input.into())], model.output_ids(), None);
        run.map_err(|error| error.to_string())
    });
    let outputs = result.unwrap_or_else(|error| {
        println!("refused: {error}");
        Vec::new()
    });
    let found = outputs.into_iter().next().and_then(|output| Some(output.into_tensor::<u8>()?.into_data()));
    let expected: Vec<u8> = vec![255];
    println!("expected {expected:?}, found {found:?}");
    std::process::exit(i32::from(found != Some(expected)));
}
