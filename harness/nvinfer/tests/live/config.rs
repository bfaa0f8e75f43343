use nvinfer::{
    BuilderFlag, ComputeCapability, DataType, Error, Family, MemoryPoolType, OptProfileSelector,
    ProfilingVerbosity, TacticSource, Typing,
};

use crate::{
    network::config,
    process::{Subject, TestResult, on_each_release, on_each_release_that_builds},
};

#[test]
fn settings_read_back() {
    on_each_release(|Subject { builder, .. }| {
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
    });
}

/// Passes if the setting reads back, or if this release lacks it.
fn read_back<T: PartialEq + std::fmt::Debug>(
    set: Result<(), Error>,
    get: impl FnOnce() -> Result<T, Error>,
    expected: &T,
) -> TestResult {
    match set {
        Ok(()) => assert_eq!(get()?, *expected),
        Err(Error::Unsupported(error)) => println!("{error}"),
        Err(other) => return Err(other.into()),
    }
    Ok(())
}

#[test]
fn optional_settings_read_back_or_are_unsupported() {
    on_each_release(|Subject { builder, .. }| {
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
    });
}

const BATCHES: [(OptProfileSelector, i64); 3] =
    [(OptProfileSelector::Min, 1), (OptProfileSelector::Opt, 2), (OptProfileSelector::Max, 4)];

#[test]
fn optimization_profile_keeps_its_shapes() {
    on_each_release(|Subject { builder, .. }| {
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
    });
}

#[test]
fn profile_with_min_above_max_is_refused() {
    on_each_release(|Subject { builder, .. }| {
        let profile = builder.create_optimization_profile()?;
        for (select, batch) in
            [(OptProfileSelector::Min, 4), (OptProfileSelector::Opt, 2), (OptProfileSelector::Max, 1)]
        {
            // Some releases refuse at once, the others when the profile is used.
            let _ = profile.set_dimensions("x", select, &[batch, 3]);
        }
        assert!(!profile.is_valid()? || builder.create_config()?.add_optimization_profile(&profile).is_err());
        Ok(())
    });
}

#[test]
fn dynamic_network_builds_only_with_a_profile() {
    on_each_release_that_builds(|Subject { builder, .. }| {
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
    });
}

#[test]
fn timing_cache_survives_serialization() {
    on_each_release_that_builds(|Subject { library, builder }| {
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
    });
}

#[test]
fn builder_threads_read_back() {
    on_each_release(|Subject { builder, .. }| {
        let before = builder.max_threads()?;
        builder.set_max_threads(2)?;
        assert_eq!(builder.max_threads()?, 2);
        builder.set_max_threads(before)?;
        Ok(())
    });
}

#[test]
fn platform_features_are_answered_or_unsupported() {
    on_each_release(|Subject { library, builder }| {
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
    });
}
