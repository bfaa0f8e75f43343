use nvinfer::{
    Activation, ActivationType, Builder, BuilderConfig, BuilderFlag, Cast, ComputeCapability, Concatenation,
    Constant, Convolution, DataType, Deconvolution, ElementWise, ElementWiseOperation, Error, Family,
    LayerType, Library, NetworkDefinition, Pooling, PoolingType, Product, Scale, ScaleMode, Shuffle,
    TacticSource, Tensor, Typing, Weights,
};

use crate::{
    device,
    process::{Subject, TestResult, on_each_release, on_each_release_that_builds},
};

/// A configuration that builds anywhere: for a GPU that need not be there, with kernels that need no other library.
pub fn config(builder: &Builder) -> Result<BuilderConfig<'_>, Error> {
    let config = builder.create_config()?;
    match builder.library().version().product() {
        Product::TensorRtRtx => config.set_compute_capabilities(&[ComputeCapability::Sm86])?,
        Product::TensorRt => {
            config
                .set_tactic_sources(&[TacticSource::EdgeMaskConvolutions, TacticSource::JitConvolutions])?;
        }
    }
    config.set_flag(BuilderFlag::Tf32, false)?;
    Ok(config)
}

/// Two channels to six in two groups, 3×3, stride 2, dilation 1, one row and column cut off in front.
pub fn deconvolution<'n>(
    network: &'n NetworkDefinition<'_>,
    x: Tensor<'n>,
) -> Result<Deconvolution<'n>, Error> {
    let kernel: Vec<f32> = (0..2 * 3 * 9).map(|index| index as f32).collect();
    let bias = [0.5; 6];
    let layer =
        network.add_deconvolution(x, 6, &[3, 3], &Weights::from_f32(&kernel), &Weights::from_f32(&bias))?;
    layer.set_groups(2)?;
    layer.set_stride(&[2, 2])?;
    layer.set_dilation(&[1, 1])?;
    layer.set_pre_padding(&[1, 1])?;
    layer.set_post_padding(&[0, 0])?;
    Ok(layer)
}

fn input<'n>(network: &'n NetworkDefinition<'_>, shape: &[i64]) -> Result<Tensor<'n>, Error> {
    network.add_input("x", DataType::Float, shape)
}

fn shape(tensor: Tensor<'_>) -> Result<Vec<i64>, Error> {
    Ok(tensor.shape()?.unwrap_or_default())
}

/// Whether a tensor has a type. TensorRT 8 settles types when it builds, and calls every tensor FP32 until then.
fn check_type(library: Library, tensor: Tensor<'_>, expected: DataType) -> TestResult {
    let expected = if library.version().family() == Family::Trt8 { DataType::Float } else { expected };
    assert_eq!(tensor.data_type()?, expected);
    Ok(())
}

#[test]
fn network_keeps_its_name_inputs_and_outputs() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        network.set_name("hand-made")?;
        assert_eq!(network.name()?, "hand-made");
        let x = input(&network, &[1, 2, 4, 4])?;
        x.set_shape(&[3, 2, 5, 5])?;
        assert_eq!(shape(x)?, [3, 2, 5, 5]);
        x.set_shape(&[-1, 2, 4, 4])?;
        x.set_dimension_name(0, "batch")?;
        assert_eq!((x.dimension_name(0)?.as_deref(), x.dimension_name(1)?), (Some("batch"), None));
        x.set_name("renamed")?;
        assert_eq!((x.name()?.as_str(), x.is_network_input()?), ("renamed", true));
        x.set_allowed_formats(1)?;
        assert_eq!(x.allowed_formats()?, 1);
        let layer = network.add_identity(x)?;
        layer.set_name("same")?;
        let y = layer.output(0)?;
        network.mark_output(y)?;
        match y.set_data_type(DataType::Float) {
            Ok(()) => assert_eq!(y.data_type()?, DataType::Float),
            Err(error) => assert!(matches!(error, Error::Unsupported(_)), "{error}"),
        }
        assert!(y.is_network_output()?);
        assert_eq!((y.is_shape_tensor()?, y.is_execution_tensor()?), (false, true));
        assert_eq!((network.inputs()?.len(), network.outputs()?.len()), (1, 1));
        network.unmark_output(y)?;
        assert!(network.outputs()?.is_empty());
        let layers = network.layers()?;
        assert_eq!((layers.len(), layers[0].name()?.as_str()), (1, "same"));
        assert_eq!(layers[0].layer_type()?, LayerType::Identity);
        assert_eq!((layers[0].input_count()?, layers[0].output_count()?), (1, 1));
        assert_eq!(layers[0].input(0)?.ok_or("no input")?.name()?, "renamed");
        assert!(layers[0].input(1)?.is_none());
        assert!(matches!(layers[0].output(1), Err(Error::Index { index: 1, count: 1, .. })));
        assert_eq!(layers[0].output_type(0)?, DataType::Float);
        match layers[0].set_metadata("from a test") {
            Ok(()) => assert_eq!(layers[0].metadata()?, "from a test"),
            Err(error) => assert!(matches!(error, Error::Unsupported(_)), "{error}"),
        }
        Ok(())
    });
}

#[test]
fn convolution_settings_read_back() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        let x = input(&network, &[1, 4, 9, 10])?;
        let (kernel, bias) = ([1.0; 6 * 2 * 3 * 2], [0.0; 6]);
        let layer =
            network.add_convolution(x, 6, &[3, 2], &Weights::from_f32(&kernel), &Weights::from_f32(&bias))?;
        layer.set_groups(2)?;
        layer.set_stride(&[2, 3])?;
        layer.set_dilation(&[1, 2])?;
        layer.set_pre_padding(&[1, 0])?;
        layer.set_post_padding(&[0, 2])?;
        assert_eq!((layer.output_maps()?, layer.groups()?), (6, 2));
        assert_eq!(
            (layer.kernel_size()?, layer.stride()?, layer.dilation()?),
            (vec![3, 2], vec![2, 3], vec![1, 2])
        );
        assert_eq!((layer.pre_padding()?, layer.post_padding()?), (vec![1, 0], vec![0, 2]));
        assert_eq!((layer.kernel_weight_count()?, layer.bias_weight_count()?), (72, 6));
        assert_eq!(shape(layer.output(0)?)?, [1, 6, 4, 4]);
        assert!(network.layers()?[0].downcast::<Convolution>()?.is_some());
        assert!(network.layers()?[0].downcast::<Deconvolution>()?.is_none());
        Ok(())
    });
}

#[test]
fn deconvolution_settings_read_back() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        let layer = deconvolution(&network, input(&network, &[1, 2, 4, 5])?)?;
        assert_eq!((layer.output_maps()?, layer.groups()?), (6, 2));
        assert_eq!(
            (layer.kernel_size()?, layer.stride()?, layer.dilation()?),
            (vec![3, 3], vec![2, 2], vec![1, 1])
        );
        assert_eq!((layer.pre_padding()?, layer.post_padding()?), (vec![1, 1], vec![0, 0]));
        assert_eq!((layer.kernel_weight_count()?, layer.bias_weight_count()?), (54, 6));
        assert_eq!(shape(layer.output(0)?)?, [1, 6, 8, 10]);
        Ok(())
    });
}

#[test]
fn settings_of_other_layers_read_back() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        let x = input(&network, &[1, 2, 6, 6])?;

        let pooling: Pooling = network.add_pooling(x, PoolingType::Average, &[3, 3])?;
        pooling.set_stride(&[2, 2])?;
        pooling.set_pre_padding(&[1, 1])?;
        pooling.set_post_padding(&[0, 0])?;
        pooling.set_average_count_excludes_padding(false)?;
        assert_eq!((pooling.pooling_type()?, pooling.window_size()?), (PoolingType::Average, vec![3, 3]));
        assert_eq!(
            (pooling.stride()?, pooling.pre_padding()?, pooling.post_padding()?),
            (vec![2; 2], vec![1; 2], vec![0; 2])
        );
        assert!(!pooling.average_count_excludes_padding()?);
        assert_eq!(shape(pooling.output(0)?)?, [1, 2, 3, 3]);

        let activation: Activation = network.add_activation(x, ActivationType::LeakyRelu)?;
        activation.set_parameters(0.25, 0.5)?;
        assert_eq!(
            (activation.activation_type()?, activation.parameters()?),
            (ActivationType::LeakyRelu, (0.25, 0.5))
        );

        let (shift, scale) = ([1.0, 2.0], [3.0, 4.0]);
        let coefficients = [&Weights::from_f32(&shift), &Weights::from_f32(&scale), &Weights::NONE];
        let scaled: Scale = network.add_scale(x, ScaleMode::Channel, coefficients, 1)?;
        assert_eq!((scaled.mode()?, scaled.channel_axis()?), (ScaleMode::Channel, 1));

        let sum: ElementWise =
            network.add_element_wise(activation.output(0)?, scaled.output(0)?, ElementWiseOperation::Sum)?;
        assert_eq!(sum.operation()?, ElementWiseOperation::Sum);

        let joined: Concatenation = network.add_concatenation(&[x, sum.output(0)?])?;
        joined.set_axis(2)?;
        assert_eq!((joined.axis()?, shape(joined.output(0)?)?), (2, vec![1, 2, 12, 6]));

        let shuffle: Shuffle = network.add_shuffle(x)?;
        shuffle.set_first_transpose(&[0, 2, 3, 1])?;
        shuffle.set_reshape_dimensions(&[0, 36, 2])?;
        shuffle.set_second_transpose(&[0, 2, 1])?;
        shuffle.set_zero_is_placeholder(true)?;
        assert_eq!((shuffle.reshape_dimensions()?, shuffle.zero_is_placeholder()?), (vec![0, 36, 2], true));
        assert_eq!(shape(shuffle.output(0)?)?, [1, 2, 36]);

        let constant: Constant = network.add_constant(&[2, 3], &Weights::from_f32(&[1.0; 6]))?;
        assert_eq!((constant.dimensions()?, constant.weight_count()?), (vec![2, 3], 6));
        assert_eq!(shape(constant.output(0)?)?, [2, 3]);
        Ok(())
    });
}

#[test]
fn padding_slice_and_identity_infer_their_shapes() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        let x = input(&network, &[1, 2, 6, 6])?;
        assert_eq!(shape(network.add_padding(x, &[1, 0], &[2, 3])?.output(0)?)?, [1, 2, 9, 9]);
        let slice = network.add_slice(x, &[0, 1, 0, 1], &[1, 1, 3, 2], &[1, 1, 2, 2])?;
        assert_eq!(shape(slice.output(0)?)?, [1, 1, 3, 2]);
        assert_eq!(shape(network.add_identity(x)?.output(0)?)?, [1, 2, 6, 6]);
        Ok(())
    });
}

#[test]
fn cast_converts_if_the_release_has_it() {
    on_each_release(|Subject { library, builder }| {
        let network = builder.create_network(Typing::Weak)?;
        let x = input(&network, &[1, 2])?;
        match network.add_cast(x, DataType::Half) {
            Ok(cast) => {
                let cast: Cast = cast;
                assert_eq!(cast.to_type()?, DataType::Half);
                check_type(library, cast.output(0)?, DataType::Half)?;
            }
            Err(Error::Unsupported(error)) => assert!(library.version().number() < 8600, "{error}"),
            Err(other) => return Err(other.into()),
        }
        Ok(())
    });
}

#[test]
fn quantize_and_dequantize_layers_build_a_plan() {
    on_each_release_that_builds(|Subject { library, builder }| {
        let network = builder.create_network(Typing::Weak)?;
        let x = input(&network, &[1, 4, 8, 8])?;
        let scale = network.add_constant(&[], &Weights::from_f32(&[0.5]))?.output(0)?;
        let scales = network.add_constant(&[4], &Weights::from_f32(&[0.5, 0.25, 1.0, 2.0]))?.output(0)?;
        let quantize = network.add_quantize(x, scale)?;
        check_type(library, quantize.output(0)?, DataType::Int8)?;
        let dequantize = network.add_dequantize(quantize.output(0)?, scale)?;
        check_type(library, dequantize.output(0)?, DataType::Float)?;
        let per_channel = network.add_quantize(dequantize.output(0)?, scales)?;
        per_channel.set_axis(1)?;
        assert_eq!(per_channel.axis()?, 1);
        let back = network.add_dequantize(per_channel.output(0)?, scales)?;
        back.set_axis(1)?;
        assert_eq!(back.axis()?, 1);
        network.mark_output(back.output(0)?)?;
        let config = config(builder)?;
        if library.version().product() == Product::TensorRt {
            config.set_flag(BuilderFlag::Int8, true)?;
        }
        match (builder.build_serialized_network(&network, &config), device::absent()) {
            (Ok(plan), _) => assert!(plan.len() > 100),
            // TensorRT-RTX 1.3 and 1.4 ask the present GPU about INT8, whatever the configuration names.
            (Err(Error::Refused { reason, .. }), Some(_)) if library.version().family() == Family::Rtx13 => {
                assert!(reason.contains("Cuda Runtime"), "{reason}");
            }
            (Err(error), _) => return Err(error.into()),
        }
        Ok(())
    });
}

#[test]
fn kernel_can_be_a_tensor() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        let x = input(&network, &[1, 1, 4, 4])?;
        let kernel = network.add_constant(&[1, 1, 3, 3], &Weights::from_f32(&[1.0; 9]))?.output(0)?;
        let layer = network.add_convolution(x, 1, &[3, 3], &Weights::NONE, &Weights::NONE)?;
        layer.set_input(1, kernel)?;
        assert_eq!((layer.input_count()? >= 2, layer.kernel_weight_count()?), (true, 0));
        assert_eq!(shape(layer.output(0)?)?, [1, 1, 2, 2]);
        Ok(())
    });
}

#[test]
fn precisions_of_weak_typing_read_back_or_are_unsupported() {
    on_each_release(|Subject { library, builder }| {
        let network = builder.create_network(Typing::Weak)?;
        let layer = network.add_identity(input(&network, &[1, 2])?)?;
        match layer.set_precision(DataType::Half) {
            // TensorRT-RTX 1.3 and 1.4 still have the methods, but type every network strongly.
            Ok(()) if library.version().product() == Product::TensorRtRtx => {
                assert_eq!(layer.precision()?, None);
            }
            Ok(()) => {
                assert_eq!(layer.precision()?, Some(DataType::Half));
                layer.reset_precision()?;
                assert_eq!(layer.precision()?, None);
                layer.set_output_type(0, DataType::Half)?;
                assert!(layer.output_type_is_set(0)?);
                assert_eq!(layer.output_type(0)?, DataType::Half);
            }
            Err(error) => assert!(error.to_string().contains("it is in TensorRT"), "{error}"),
        }
        Ok(())
    });
}

#[test]
fn tensor_of_another_network_is_refused() {
    on_each_release(|Subject { library, builder }| {
        let (one, other) = (builder.create_network(Typing::Weak)?, builder.create_network(Typing::Weak)?);
        let x = input(&other, &[1, 2])?;
        assert!(matches!(one.add_identity(x), Err(Error::Foreign("tensor"))));
        assert!(matches!(one.mark_output(x), Err(Error::Foreign("tensor"))));
        let second = library.create_builder()?;
        let config = second.create_config()?;
        assert!(matches!(
            builder.build_serialized_network(&one, &config),
            Err(Error::Foreign("configuration"))
        ));
        assert!(matches!(second.is_network_supported(&one, &config), Err(Error::Foreign("network"))));
        Ok(())
    });
}

#[test]
fn refused_call_has_a_reason() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        input(&network, &[1, 2])?;
        let error = network.add_input("x", DataType::Float, &[1, 2]).expect_err("two inputs of one name");
        let Error::Refused { call, reason } = &error else { return Err(error.into()) };
        assert_eq!(*call, "INetworkDefinition::addInput");
        assert!(!reason.is_empty() && reason != "the library logged no error", "{error}");
        Ok(())
    });
}

#[test]
fn too_many_extents_and_text_with_nul_are_refused() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        assert!(matches!(network.add_input("x", DataType::Float, &[1; 9]), Err(Error::Rank(9))));
        assert!(matches!(network.add_input("a\0b", DataType::Float, &[1]), Err(Error::Text(_))));
        Ok(())
    });
}

#[test]
fn network_built_layer_by_layer_becomes_a_plan() {
    on_each_release_that_builds(|Subject { library, builder }| {
        let network = match builder.create_network(Typing::Strong) {
            Err(Error::Unsupported(error)) => {
                assert!(library.version().number() < 9100, "{error}");
                builder.create_network(Typing::Weak)?
            }
            network => network?,
        };
        let y = deconvolution(&network, input(&network, &[1, 2, 4, 4])?)?.output(0)?;
        network.mark_output(y)?;
        let config = config(builder)?;
        assert!(builder.is_network_supported(&network, &config)?);
        let plan = builder.build_serialized_network(&network, &config)?;
        assert!(plan.len() > 100);
        plan.data_type()?;
        Ok(())
    });
}
