use std::{error::Error, fs};

use nvinfer::{DataType, Typing};

use crate::{
    models,
    network::{config, deconvolution},
    process::{Subject, TestResult, on_each_release, on_each_release_that_builds},
};

/// Bytes a round that the library and the allocator keep; a leaked plan has over a hundred thousand.
const GROWTH_BY_BUILDING: u64 = 12 << 10;

/// The same for a round without a build; a leaked network, even an empty one, has thousands.
const GROWTH_BY_DEFINING: u64 = 512;

#[test]
fn building_over_and_over_does_not_grow_the_process() {
    on_each_release_that_builds(|subject| {
        does_not_grow(rounds(75), GROWTH_BY_BUILDING, || build_and_drop(subject))
    });
}

#[test]
fn defining_over_and_over_does_not_grow_the_process() {
    on_each_release(|subject| does_not_grow(rounds(400), GROWTH_BY_DEFINING, || define_and_drop(subject)));
}

/// The rounds of one measurement; `NVINFER_ROUNDS` asks for fewer under a memory checker.
fn rounds(usual: u64) -> u64 {
    std::env::var("NVINFER_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A leak grows in every measurement; what the allocator keeps for itself grows in some.
fn does_not_grow(rounds: u64, allowed: u64, round: impl Fn() -> TestResult) -> TestResult {
    const MEASUREMENTS: usize = 3;
    (0..rounds).try_for_each(|_| round())?;
    let mut growths = Vec::new();
    for _ in 0..MEASUREMENTS {
        let before = resident()?;
        (0..rounds).try_for_each(|_| round())?;
        let after = resident()?;
        println!("{before} bytes resident, {after} after {rounds} rounds");
        growths.push(after.saturating_sub(before) / rounds);
        // in a few rounds, what the allocator keeps hides a leak
        if rounds < 50 || growths.last().is_some_and(|growth| *growth <= allowed) {
            return Ok(());
        }
    }
    panic!("{growths:?} bytes a round, in {MEASUREMENTS} times {rounds} rounds");
}

fn build_and_drop(Subject { library, builder }: Subject) -> TestResult {
    let network = builder.create_network(Typing::Weak)?;
    let x = network.add_input("x", DataType::Float, &[1, 2, 4, 4])?;
    network.mark_output(deconvolution(&network, x)?.output(0)?)?;
    let config = config(builder)?;
    assert!(builder.build_serialized_network(&network, &config)?.len() > 100);
    drop(library.create_runtime()?);
    Ok(())
}

/// Makes and drops an object of every kind that can be made without a build.
fn define_and_drop(Subject { builder, .. }: Subject) -> TestResult {
    let parsed = builder.create_network(Typing::Weak)?;
    parsed.create_onnx_parser()?.parse(&models::quantized_conv().encode())?;
    let refused = builder.create_network(Typing::Weak)?;
    refused
        .create_onnx_parser()?
        .parse(&models::conv_with_wrong_channels().encode())
        .expect_err("wrong channels");
    config(builder)?.create_timing_cache(&[])?.serialize()?;
    Ok(())
}

/// Resident memory of this process, in bytes.
fn resident() -> Result<u64, Box<dyn Error>> {
    let pages: u64 = fs::read_to_string("/proc/self/statm")?
        .split(' ')
        .nth(1)
        .ok_or("statm has no second field")?
        .parse()?;
    Ok(pages * 4096)
}
