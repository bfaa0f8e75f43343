//! Graphs survive encoding and decoding, and no bytes make decoding panic.

use half::{bf16, f16};
use proptest::{collection::vec, option, prelude::*};
use twinfer_onnx::{
    AutoPad, AveragePool, BatchNormalization, Concat, Conv, ConvTranspose, DataType, DequantizeLinear, Dim,
    Graph, Initializer, Interface, LeakyRelu, MaxPool, Node, Op, QuantizeLinear, Tensor, TensorData,
    Transpose, ValueInfo, infer_shapes,
};

fn dtype() -> impl Strategy<Value = DataType> {
    use DataType::{Bfloat16, Bool, Double, Float, Float16, Int8, Int32, Int64, Uint8};
    prop::sample::select(vec![Float, Float16, Bfloat16, Double, Int8, Uint8, Int32, Int64, Bool])
}

fn auto_pad() -> impl Strategy<Value = Option<AutoPad>> {
    option::of(prop::sample::select(AutoPad::ALL.to_vec()))
}

fn int() -> impl Strategy<Value = Option<i64>> {
    option::of(prop_oneof![-2..4i64, any::<i64>()])
}

fn ints() -> impl Strategy<Value = Option<Vec<i64>>> {
    option::of(list())
}

fn list() -> impl Strategy<Value = Vec<i64>> {
    vec(prop_oneof![0..4i64, any::<i64>()], 0..5)
}

fn conv() -> impl Strategy<Value = Conv> {
    (auto_pad(), ints(), int(), ints(), ints(), ints()).prop_map(
        |(auto_pad, dilations, group, kernel_shape, pads, strides)| Conv {
            auto_pad,
            dilations,
            group,
            kernel_shape,
            pads,
            strides,
        },
    )
}

fn conv_transpose() -> impl Strategy<Value = Op> {
    (auto_pad(), ints(), int(), ints(), ints(), ints(), ints(), ints()).prop_map(
        |(auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides)| {
            Op::ConvTranspose(ConvTranspose {
                auto_pad,
                dilations,
                group,
                kernel_shape,
                output_padding,
                output_shape,
                pads,
                strides,
            })
        },
    )
}

fn max_pool() -> impl Strategy<Value = Op> {
    (auto_pad(), int(), ints(), list(), ints(), int(), ints()).prop_map(
        |(auto_pad, ceil_mode, dilations, kernel_shape, pads, storage_order, strides)| {
            Op::MaxPool(MaxPool {
                auto_pad,
                ceil_mode,
                dilations,
                kernel_shape,
                pads,
                storage_order,
                strides,
            })
        },
    )
}

fn average_pool() -> impl Strategy<Value = Op> {
    (auto_pad(), int(), int(), ints(), list(), ints(), ints()).prop_map(
        |(auto_pad, ceil_mode, count_include_pad, dilations, kernel_shape, pads, strides)| {
            Op::AveragePool(AveragePool {
                auto_pad,
                ceil_mode,
                count_include_pad,
                dilations,
                kernel_shape,
                pads,
                strides,
            })
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let float = || option::of(-1e30f32..1e30);
    let batch_normalization = (float(), float(), int()).prop_map(|(epsilon, momentum, training_mode)| {
        Op::BatchNormalization(BatchNormalization { epsilon, momentum, training_mode })
    });
    prop_oneof![
        prop::sample::select(vec![
            Op::Add,
            Op::Clip,
            Op::GlobalAveragePool,
            Op::HardSwish,
            Op::Identity,
            Op::Mul,
            Op::Relu,
            Op::Sigmoid,
        ]),
        average_pool(),
        float().prop_map(|alpha| Op::LeakyRelu(LeakyRelu { alpha })),
        ints().prop_map(|perm| Op::Transpose(Transpose { perm })),
        batch_normalization,
        any::<i64>().prop_map(|axis| Op::Concat(Concat { axis })),
        conv().prop_map(Op::Conv),
        conv().prop_map(Op::ConvInteger),
        conv().prop_map(Op::QLinearConv),
        conv_transpose(),
        max_pool(),
        int().prop_map(|axis| Op::QuantizeLinear(QuantizeLinear { axis })),
        int().prop_map(|axis| Op::DequantizeLinear(DequantizeLinear { axis })),
    ]
}

fn tensor() -> impl Strategy<Value = Tensor> {
    (dtype(), vec(0..4usize, 0..4)).prop_flat_map(|(dtype, shape)| {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        vec(0..2u8, bytes).prop_map(move |bytes| {
            Tensor::from_le_bytes(dtype, shape.clone(), &bytes).expect("as many bytes as it holds")
        })
    })
}

fn value_info() -> impl Strategy<Value = ValueInfo> {
    let dim = prop_oneof![(0..9usize).prop_map(Dim::Fixed), "[a-c]?".prop_map(Dim::Symbolic)];
    (name(), dtype(), option::of(vec(dim, 0..5))).prop_map(|(name, dtype, shape)| ValueInfo {
        name,
        dtype,
        shape,
    })
}

fn name() -> impl Strategy<Value = String> {
    "[a-d]{0,2}"
}

fn node() -> impl Strategy<Value = Node> {
    (name(), op(), vec(name(), 0..6), name()).prop_map(|(name, op, inputs, output)| Node {
        name,
        op,
        inputs,
        outputs: vec![output],
    })
}

fn graph() -> impl Strategy<Value = Graph> {
    let initializer = (name(), tensor()).prop_map(|(name, tensor)| Initializer { name, tensor });
    (11..30i64, vec(value_info(), 0..3), vec(initializer, 0..3), vec(node(), 0..5), vec(value_info(), 0..3))
        .prop_map(|(opset, inputs, initializers, nodes, outputs)| Graph {
            opset,
            inputs: inputs
                .into_iter()
                .filter(|input| initializers.iter().all(|constant| constant.name != input.name))
                .collect(),
            initializers,
            nodes,
            outputs,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_decodes_to_itself(graph in graph()) {
        let bytes = graph.encode();
        prop_assert_eq!(Graph::decode(&bytes).expect("its own bytes"), graph.clone());
        prop_assert_eq!(graph.encode(), bytes);
    }

    #[test]
    fn a_graph_survives_json(graph in graph()) {
        let text = serde_json::to_string(&graph).expect("serializes");
        prop_assert_eq!(serde_json::from_str::<Graph>(&text).expect("parses"), graph);
    }

    #[test]
    fn a_tensor_survives_its_bytes_and_its_proto(tensor in tensor()) {
        let bytes = tensor.to_le_bytes();
        let back = Tensor::from_le_bytes(tensor.dtype(), tensor.shape.clone(), &bytes);
        prop_assert_eq!(back.expect("its own bytes"), tensor.clone());
        prop_assert_eq!(Tensor::decode_proto(&tensor.encode_proto("t")).expect("its own bytes"), tensor);
    }

    #[test]
    fn shape_inference_of_any_graph_ends_in_shapes_or_a_broken_rule(graph in graph(), extent in 0..5usize) {
        let shapes = vec![vec![1, extent, 3, 4]; graph.inputs.len()];
        let _ = infer_shapes(&graph, &shapes);
    }

    #[test]
    fn damaged_bytes_decode_or_fail_without_panic(graph in graph(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = graph.encode();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = Graph::decode(&bytes).map(|graph| graph.encode());
        let _ = Graph::decode(&bytes[..place]);
        let _ = Interface::decode(&bytes);
    }

    #[test]
    fn values_of_every_width_survive_f64(bits in any::<u16>()) {
        let narrow = [
            Tensor::new(vec![], TensorData::Float16(vec![f16::from_bits(bits)])),
            Tensor::new(vec![], TensorData::Bfloat16(vec![bf16::from_bits(bits)])),
            Tensor::new(vec![], TensorData::Int8(vec![bits as i8])),
            Tensor::new(vec![], TensorData::Uint8(vec![bits as u8])),
            Tensor::new(vec![], TensorData::Int32(vec![i32::from(bits) << 15])),
        ];
        for tensor in narrow {
            let tensor = tensor.expect("a scalar");
            let values = tensor.to_f64();
            prop_assume!(!values[0].is_nan());
            let back = Tensor::from_f64(tensor.dtype(), vec![], &values).expect("a scalar");
            prop_assert_eq!(back, tensor);
        }
    }
}
