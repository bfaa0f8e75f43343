//! Writes the first cases of a family as ONNX models: `export FAMILY COUNT FOLDER`.

use std::{env, error::Error, fs, path::Path};

use twinfer_generators::Family;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [family, count, folder] = arguments.as_slice() else {
        return Err("usage: export FAMILY COUNT FOLDER".into());
    };
    let stream = family.parse::<Family>()?.stream(0);
    for index in 0..count.parse()? {
        let path = Path::new(folder).join(format!("{index:06}.onnx"));
        let case = stream.case(index);
        fs::write(path, case.graph.encode())?;
        println!("{index:06} {:?}", case.expectation);
    }
    Ok(())
}
