use nvinfer::{
    BuilderFlag, DataType, Error, Family, LayerInformationFormat, OptProfileSelector, ProfilingVerbosity,
    TensorIOMode, TensorLocation, Typing,
};
use twinfer_onnx::{Graph, Op};

use crate::{
    device::{self, Device},
    models,
    network::config,
    process::{Subject, on_each_release, on_each_release_that_builds, on_each_release_with_gpu, runtime},
};

fn plan(subject: Subject, graph: &Graph) -> Result<Vec<u8>, Error> {
    let network = subject.builder.create_network(Typing::Weak)?;
    network.set_name("from the suite")?;
    network.create_onnx_parser()?.parse(&graph.encode())?;
    let config = config(subject.builder)?;
    config.set_profiling_verbosity(ProfilingVerbosity::Detailed)?;
    let is_quantized = graph.nodes.iter().any(|node| matches!(node.op, Op::QuantizeLinear(_)));
    if is_quantized && subject.library.version().family() == Family::Trt8 {
        config.set_flag(BuilderFlag::Int8, true)?;
    }
    let profile = subject.builder.create_optimization_profile()?;
    if network.inputs()?[0].shape()?.is_some_and(|shape| shape.contains(&-1)) {
        for (select, batch) in
            [(OptProfileSelector::Min, 1), (OptProfileSelector::Opt, 2), (OptProfileSelector::Max, 4)]
        {
            profile.set_dimensions("x", select, &[batch, 1, 4, 4])?;
        }
        config.add_optimization_profile(&profile)?;
    }
    Ok(subject.builder.build_serialized_network(&network, &config)?.to_vec())
}

#[test]
fn bytes_that_are_no_plan_are_refused_with_a_reason() {
    on_each_release(|subject| {
        let error =
            runtime(subject.library)?.deserialize(b"this is no plan, whatever its length may be").err();
        assert!(
            matches!(error, Some(Error::Refused { call: "IRuntime::deserializeCudaEngine", .. })),
            "{error:?}"
        );
        Ok(())
    });
}

#[test]
fn host_code_is_allowed_where_releases_know_it() {
    on_each_release(|subject| {
        let runtime = runtime(subject.library)?;
        match runtime.set_engine_host_code_allowed(true) {
            Ok(()) => assert!(runtime.engine_host_code_allowed()?),
            Err(Error::Unsupported(error)) => println!("{error}"),
            Err(other) => return Err(other.into()),
        }
        Ok(())
    });
}

#[test]
fn plan_for_another_gpu_is_refused_with_a_reason() {
    on_each_release_that_builds(|subject| {
        let plan = plan(subject, &models::conv(Some(1)))?;
        let error = runtime(subject.library)?.deserialize(&plan).err();
        match (error, device::cannot_run(subject.library.version())) {
            (None, None) => Ok(()),
            (Some(Error::Refused { reason, .. }), Some(_)) => {
                assert_ne!(reason, "the library logged no error");
                Ok(())
            }
            (error, cannot) => Err(format!("{error:?}, though {cannot:?}").into()),
        }
    });
}

#[test]
fn engine_describes_its_tensors_layers_and_profiles() {
    on_each_release_with_gpu(|subject| {
        let plan = plan(subject, &models::conv(None))?;
        let engine = runtime(subject.library)?.deserialize(&plan)?;
        let tensors = engine.io_tensors()?;
        let names: Vec<_> = tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.mode)).collect();
        assert_eq!(names, [("x", TensorIOMode::Input), ("y", TensorIOMode::Output)]);
        for tensor in &tensors {
            assert_eq!((tensor.data_type, tensor.location), (DataType::Float, TensorLocation::Device));
            assert_eq!(tensor.shape, [-1, 1, 4, 4]);
            assert!(tensor.format.contains("linear"), "{}", tensor.format);
        }
        assert_eq!(engine.name()?, "from the suite");
        assert!(engine.layer_count()? >= 1);
        assert_eq!(engine.optimization_profile_count()?, 1);
        assert_eq!(engine.profile_shape("x", 0, OptProfileSelector::Max)?, [4, 1, 4, 4]);
        assert_eq!(engine.profiling_verbosity()?, ProfilingVerbosity::Detailed);
        engine.device_memory_size()?;
        Ok(())
    });
}

const IMAGE: [f32; 16] = [1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15., 16.];

/// Each element's sum with its neighbors in [`IMAGE`], counted by hand.
const NEIGHBOR_SUMS: [f32; 16] =
    [14., 24., 30., 22., 33., 54., 63., 45., 57., 90., 99., 69., 46., 72., 78., 54.];

#[test]
fn convolution_computes_the_values_of_arithmetic() {
    on_each_release_with_gpu(|subject| {
        let plan = plan(subject, &models::conv(Some(1)))?;
        let engine = runtime(subject.library)?.deserialize(&plan)?;
        let context = engine.create_execution_context()?;
        context.set_name("a run")?;
        assert_eq!(context.name()?, "a run");
        assert_eq!((context.optimization_profile()?, context.all_input_dimensions_specified()?), (0, true));
        assert_eq!(context.infer_shapes()?, Vec::<String>::new());
        assert_eq!(context.tensor_shape("y")?, [1, 1, 4, 4]);
        assert_eq!(context.tensor_strides("y")?, [16, 16, 4, 1]);
        assert!(context.max_output_size("y")? >= 64);
        let values = Device::open()?.run(&context, ("x", &IMAGE), ("y", 16))?;
        assert_eq!(values, NEIGHBOR_SUMS);
        Ok(())
    });
}

/// Kernel of two ones, stride 2, input 1, 2, 3.
#[test]
fn conv_transpose_computes_the_values_of_arithmetic() {
    on_each_release_with_gpu(|subject| {
        let expected: [(i64, i64, &[f32]); 4] = [
            (0, 0, &[1., 1., 2., 2., 3., 3.]),
            (0, 1, &[1., 1., 2., 2., 3., 3., 0.]),
            (1, 0, &[1., 2., 2., 3.]),
            (1, 1, &[1., 2., 2., 3., 3.]),
        ];
        for (pad, output_padding, expected) in expected {
            let plan = plan(subject, &models::conv_transpose(pad, output_padding))?;
            let engine = runtime(subject.library)?.deserialize(&plan)?;
            let context = engine.create_execution_context()?;
            let values = Device::open()?.run(&context, ("x", &[1., 2., 3.]), ("y", expected.len()))?;
            assert_eq!(values, expected, "pads {pad}, output_padding {output_padding}");
        }
        Ok(())
    });
}

#[test]
fn dynamic_batch_runs_at_every_shape_of_its_profile() {
    on_each_release_with_gpu(|subject| {
        let plan = plan(subject, &models::conv(None))?;
        let engine = runtime(subject.library)?.deserialize(&plan)?;
        let context = engine.create_execution_context()?;
        let device = Device::open()?;
        assert!(!context.all_input_dimensions_specified()?);
        assert_eq!(context.infer_shapes()?, ["x"]);
        for batch in [1, 3, 4, 1] {
            context.set_input_shape("x", &[batch, 1, 4, 4])?;
            assert_eq!(context.infer_shapes()?, Vec::<String>::new());
            // TensorRT 8 counts only dimensions that were given by binding index, which this crate does not do.
            assert!(
                context.all_input_dimensions_specified()?
                    || subject.library.version().family() == Family::Trt8
            );
            assert_eq!(context.tensor_shape("y")?, [batch, 1, 4, 4]);
            let batch = batch as usize;
            let values = device.run(&context, ("x", &IMAGE.repeat(batch)), ("y", 16 * batch))?;
            assert_eq!(values, NEIGHBOR_SUMS.repeat(batch), "batch {batch}");
        }
        assert!(matches!(context.set_input_shape("x", &[5, 1, 4, 4]), Err(Error::Refused { .. })));
        // SAFETY: the stream is live.
        unsafe { context.set_optimization_profile(0, device.stream())? };
        Ok(())
    });
}

#[test]
fn inspector_reports_the_precision_of_each_layer() {
    on_each_release_with_gpu(|subject| {
        let plan = plan(subject, &models::quantized_conv())?;
        let engine = runtime(subject.library)?.deserialize(&plan)?;
        let context = engine.create_execution_context()?;
        let inspector = context.create_inspector(&engine)?;
        let json = inspector.engine_information(LayerInformationFormat::Json)?;
        println!("{json}");
        assert!(json.contains("\"Layers\"") && json.contains("Int8"), "{json}");
        let layer = engine.create_inspector()?.layer_information(0, LayerInformationFormat::Json)?;
        assert!(json.contains("conv") && layer.contains("Name"), "{layer}");
        assert!(!inspector.engine_information(LayerInformationFormat::Oneline)?.is_empty());
        Ok(())
    });
}

#[test]
fn engine_survives_serialization() {
    on_each_release_with_gpu(|subject| {
        let plan = plan(subject, &models::conv(Some(1)))?;
        let runtime = runtime(subject.library)?;
        let copy = runtime.deserialize(&plan)?.serialize()?.to_vec();
        let engine = runtime.deserialize(&copy)?;
        let context = engine.create_execution_context()?;
        assert_eq!(Device::open()?.run(&context, ("x", &IMAGE), ("y", 16))?, NEIGHBOR_SUMS);
        Ok(())
    });
}
