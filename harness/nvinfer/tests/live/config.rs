use nvinfer::{
    BuilderFlag, ComputeCapability, DataType, Error, Family, MemoryPoolType, OptProfileSelector,
    ProfilingVerbosity, TacticSource, Typing,
};

use crate::{
    network::config,
    suite::{Body, Needs, Outcome, Subject},
};

pub fn tests() -> Vec<(&'static str, Needs, Body)> {
    vec![
        ("every setting of a configuration reads back", Needs::Builder, settings_read_back),
        (
            "settings that only some releases have read back or are unsupported",
            Needs::Builder,
            optional_settings,
        ),
        ("an optimization profile keeps its shapes", Needs::Builder, an_optimization_profile),
        ("a profile without shapes is refused", Needs::Builder, an_empty_profile),
        ("a dynamic network builds with a profile and not without", Needs::Builder, a_dynamic_network),
        ("a timing cache survives serialization", Needs::Builder, a_timing_cache),
        ("the builder's threads read back", Needs::Builder, threads),
        ("the builder knows its platform or is unsupported", Needs::Builder, platform),
    ]
}

fn settings_read_back(Subject { builder, .. }: Subject) -> Outcome {
    let config = builder.create_config()?;
    config.set_flag(BuilderFlag::Refit, true)?;
    assert!(config.flag(BuilderFlag::Refit)? && config.flags()?.contains(&BuilderFlag::Refit));
    config.set_flag(BuilderFlag::Refit, false)?;
    assert!(!config.flag(BuilderFlag::Refit)? && !config.flags()?.contains(&BuilderFlag::Refit));
    for verbosity in [ProfilingVerbosity::None, ProfilingVerbosity::Detailed] {
        config.set_profiling_verbosity(verbosity)?;
        assert_eq!(config.profiling_verbosity()?, verbosity);
    }
    config.set_memory_pool_limit(MemoryPoolType::Workspace, 1 << 26)?;
    assert_eq!(config.memory_pool_limit(MemoryPoolType::Workspace)?, 1 << 26);
    config.set_avg_timing_iterations(3)?;
    assert_eq!(config.avg_timing_iterations()?, 3);
    config.reset()?;
    assert_ne!(config.profiling_verbosity()?, ProfilingVerbosity::Detailed);
    Ok(())
}

/// Passes if the setting reads back, or if this release lacks it.
fn read_back<T: PartialEq + std::fmt::Debug>(
    set: Result<(), Error>,
    get: impl FnOnce() -> Result<T, Error>,
    expected: &T,
) -> Outcome {
    match set {
        Ok(()) => assert_eq!(get()?, *expected),
        Err(Error::Unsupported(error)) => println!("{error}"),
        Err(other) => return Err(other.into()),
    }
    Ok(())
}

fn optional_settings(Subject { builder, .. }: Subject) -> Outcome {
    let config = builder.create_config()?;
    read_back(config.set_builder_optimization_level(2), || config.builder_optimization_level(), &2)?;
    read_back(config.set_min_timing_iterations(2), || config.min_timing_iterations(), &2)?;
    read_back(config.set_max_nb_tactics(4), || config.max_nb_tactics(), &4)?;
    let capabilities = [ComputeCapability::Sm86, ComputeCapability::Sm89];
    read_back(
        config.set_compute_capabilities(&capabilities),
        || config.compute_capabilities(),
        &capabilities.to_vec(),
    )?;
    let sources = [TacticSource::EdgeMaskConvolutions];
    match config.set_tactic_sources(&sources) {
        Ok(()) => assert_eq!(config.tactic_sources()?, sources),
        Err(error) => {
            assert!(matches!(error, Error::Refused { .. }), "{error}");
            config.tactic_sources()?;
        }
    }
    Ok(())
}

const BATCHES: [(OptProfileSelector, i64); 3] =
    [(OptProfileSelector::Min, 1), (OptProfileSelector::Opt, 2), (OptProfileSelector::Max, 4)];

fn an_optimization_profile(Subject { builder, .. }: Subject) -> Outcome {
    let profile = builder.create_optimization_profile()?;
    assert_eq!(profile.dimensions("x", OptProfileSelector::Min)?, None);
    for (select, batch) in BATCHES {
        profile.set_dimensions("x", select, &[batch, 3, 8, 9])?;
    }
    for (select, batch) in BATCHES {
        assert_eq!(profile.dimensions("x", select)?, Some(vec![batch, 3, 8, 9]));
    }
    assert!(profile.is_valid()?);
    let config = builder.create_config()?;
    assert_eq!(config.add_optimization_profile(&profile)?, 0);
    assert_eq!(config.optimization_profile_count()?, 1);
    Ok(())
}

fn an_empty_profile(Subject { builder, .. }: Subject) -> Outcome {
    let profile = builder.create_optimization_profile()?;
    for (select, batch) in
        [(OptProfileSelector::Min, 4), (OptProfileSelector::Opt, 2), (OptProfileSelector::Max, 1)]
    {
        // Some releases refuse at once, the others when the profile is used.
        let _ = profile.set_dimensions("x", select, &[batch, 3]);
    }
    assert!(!profile.is_valid()? || builder.create_config()?.add_optimization_profile(&profile).is_err());
    Ok(())
}

fn a_dynamic_network(Subject { builder, .. }: Subject) -> Outcome {
    let network = builder.create_network(Typing::Weak)?;
    network.create_onnx_parser()?.parse(&crate::models::conv(None).encode())?;
    let without = config(builder)?;
    let error = builder.build_serialized_network(&network, &without).err();
    if let Some(error) = &error {
        assert!(matches!(error, Error::Refused { .. }), "{error}");
    }
    let profile = builder.create_optimization_profile()?;
    for (select, batch) in BATCHES {
        profile.set_dimensions("x", select, &[batch, 1, 4, 4])?;
    }
    let with = config(builder)?;
    with.add_optimization_profile(&profile)?;
    assert!(builder.build_serialized_network(&network, &with)?.len() > 100);
    Ok(())
}

fn a_timing_cache(Subject { library, builder }: Subject) -> Outcome {
    let config = config(builder)?;
    assert!(config.timing_cache()?.is_none());
    let cache = config.create_timing_cache(&[])?;
    let empty = cache.serialize()?;
    assert!(!empty.is_empty());
    config.set_timing_cache(&cache, false)?;
    let network = builder.create_network(Typing::Weak)?;
    let x = network.add_input("x", DataType::Float, &[1, 2, 4, 4])?;
    network.mark_output(crate::network::deconvolution(&network, x)?.output(0)?)?;
    builder.build_serialized_network(&network, &config)?;
    let filled = config.timing_cache()?.ok_or("the configuration has no timing cache")?;
    assert!(filled.len() >= empty.len());
    match config.create_timing_cache(&filled)?.combine(&cache, false) {
        // TensorRT 8 cannot merge caches that hold no tactics of its graph compiler.
        Err(Error::Refused { reason, .. }) if library.version().family() == Family::Trt8 => {
            assert!(reason.contains("Myelin"), "{reason}");
        }
        combined => combined?,
    }
    cache.reset()?;
    assert!(cache.serialize()?.len() <= filled.len());
    Ok(())
}

fn threads(Subject { builder, .. }: Subject) -> Outcome {
    let before = builder.max_threads()?;
    builder.set_max_threads(2)?;
    assert_eq!(builder.max_threads()?, 2);
    builder.set_max_threads(before)?;
    Ok(())
}

fn platform(Subject { library, builder }: Subject) -> Outcome {
    for answer in
        [builder.platform_has_fast_fp16(), builder.platform_has_fast_int8(), builder.platform_has_tf32()]
    {
        match answer {
            Ok(_) => assert!(library.version().number() < 110_000),
            Err(Error::Unsupported(error)) => {
                assert!(
                    error.to_string().contains("it is in TensorRT 8.4.1 to 9.2, TensorRT 10.0.0"),
                    "{error}"
                );
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}
