use std::fs;

use nvinfer::{DataType, Typing};

use crate::{
    models,
    network::{config, deconvolution},
    suite::{Body, Needs, Outcome, Subject},
};

pub fn tests() -> Vec<(&'static str, Needs, Body)> {
    vec![("building and dropping over and over does not grow the process", Needs::Builder, does_not_grow)]
}

/// What the library itself keeps a build, generously; a leaked plan or network is a hundred times that.
const GROWTH_ALLOWED: u64 = 12 << 10;

fn does_not_grow(subject: Subject) -> Outcome {
    let loops: u64 = std::env::var("NVINFER_LOOPS").ok().and_then(|text| text.parse().ok()).unwrap_or(75);
    (0..loops).try_for_each(|_| build_and_drop(subject))?;
    let before = resident()?;
    (0..loops).try_for_each(|_| build_and_drop(subject))?;
    let after = resident()?;
    println!("{before} bytes resident after {loops} rounds, {after} after {}", 2 * loops);
    let growth = after.saturating_sub(before) / loops;
    // Fewer rounds, as under a memory checker, drown in what the allocator keeps.
    assert!(
        loops < 50 || growth <= GROWTH_ALLOWED,
        "{growth} bytes a round: {before} to {after} in {loops} rounds"
    );
    Ok(())
}

/// Makes and drops an object of every kind that can be made without a GPU.
fn build_and_drop(Subject { library, builder }: Subject) -> Outcome {
    let parsed = builder.create_network(Typing::Weak)?;
    parsed.create_onnx_parser()?.parse(&models::quantised_conv().encode())?;
    let refused = builder.create_network(Typing::Weak)?;
    refused
        .create_onnx_parser()?
        .parse(&models::conv_with_wrong_channels().encode())
        .expect_err("wrong channels");
    let made = builder.create_network(Typing::Weak)?;
    let x = made.add_input("x", DataType::Float, &[1, 2, 4, 4])?;
    made.mark_output(deconvolution(&made, x)?.output(0)?)?;
    let config = config(builder)?;
    let cache = config.create_timing_cache(&[])?;
    config.set_timing_cache(&cache, true)?;
    cache.serialize()?;
    assert!(builder.build_serialized_network(&made, &config)?.len() > 100);
    drop(library.create_runtime()?);
    Ok(())
}

/// Resident memory of this process, in bytes.
fn resident() -> Result<u64, libtest_mimic::Failed> {
    let pages: u64 = fs::read_to_string("/proc/self/statm")?
        .split(' ')
        .nth(1)
        .ok_or("statm has no second field")?
        .parse()?;
    Ok(pages * 4096)
}
