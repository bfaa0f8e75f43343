use std::fs;

use nvinfer::{DataType, Typing};

use crate::{
    models,
    network::{config, deconvolution},
    suite::{Body, Needs, Outcome, Subject},
};

pub fn tests() -> Vec<(&'static str, Needs, Body)> {
    vec![
        ("repeated builds do not leak memory", Needs::Builder, building),
        ("repeated network definitions do not leak memory", Needs::Builder, defining),
    ]
}

/// Bytes per round that the library and the allocator may keep. A leaked plan has over a hundred thousand.
const GROWTH_BY_BUILDING: u64 = 12 << 10;

/// Bytes per round without a build that the library and the allocator may keep. A leaked network, even an empty one,
/// has thousands.
const GROWTH_BY_DEFINING: u64 = 512;

fn building(subject: Subject) -> Outcome {
    does_not_grow(rounds(75), GROWTH_BY_BUILDING, || build_and_drop(subject))
}

fn defining(subject: Subject) -> Outcome {
    does_not_grow(rounds(400), GROWTH_BY_DEFINING, || define_and_drop(subject))
}

/// The number of rounds; `NVINFER_ROUNDS` reduces it, for a run under a memory checker.
fn rounds(usual: u64) -> u64 {
    std::env::var("NVINFER_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn does_not_grow(rounds: u64, allowed: u64, round: impl Fn() -> Outcome) -> Outcome {
    (0..rounds).try_for_each(|_| round())?;
    let before = resident()?;
    (0..rounds).try_for_each(|_| round())?;
    let after = resident()?;
    println!("{before} bytes resident after {rounds} rounds, {after} after {}", 2 * rounds);
    let growth = after.saturating_sub(before) / rounds;
    // With only a few rounds the memory that the allocator keeps hides a leak.
    assert!(
        rounds < 50 || growth <= allowed,
        "{growth} bytes a round: {before} to {after} in {rounds} rounds"
    );
    Ok(())
}

fn build_and_drop(Subject { library, builder }: Subject) -> Outcome {
    let network = builder.create_network(Typing::Weak)?;
    let x = network.add_input("x", DataType::Float, &[1, 2, 4, 4])?;
    network.mark_output(deconvolution(&network, x)?.output(0)?)?;
    let config = config(builder)?;
    assert!(builder.build_serialized_network(&network, &config)?.len() > 100);
    drop(library.create_runtime()?);
    Ok(())
}

/// Makes and drops an object of every kind that can be made without a build.
fn define_and_drop(Subject { builder, .. }: Subject) -> Outcome {
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
fn resident() -> Result<u64, libtest_mimic::Failed> {
    let pages: u64 = fs::read_to_string("/proc/self/statm")?
        .split(' ')
        .nth(1)
        .ok_or("statm has no second field")?
        .parse()?;
    Ok(pages * 4096)
}
