//! Which check in the code of a backend failed, as far as its message says.

use std::sync::LazyLock;

use regex::Regex;

/// The check that failed in the code of a backend when it refused to load or run a valid model, as its `message` names it: the condition of an ONNX parser,
/// such as `K == scaleSize`, or the place of another check, such as `at setWeightsName in network.cpp`. `None` if the message names neither, or something too
/// long to be code.
pub fn of_refusal(message: &str) -> Option<String> {
    condition(message).or_else(|| place(message)).filter(|check| is_code(check))
}

/// The place of the check that failed when a backend built an engine, such as `at computeCosts in optimizer.cpp`: the conditions that a builder asserts
/// follow from other errors.
pub fn of_build_failure(message: &str) -> Option<String> {
    place(message).filter(|check| is_code(check))
}

/// Whether the check is only known by its place, at which models may fail for several reasons.
pub fn is_place(check: &str) -> bool {
    check.starts_with(AT)
}

/// The condition of a parser that failed, without the explanation behind it.
fn condition(message: &str) -> Option<String> {
    let (_, message) = message.split_once(FAILED_ASSERTION)?;
    let ends = [" && \"", ": "].into_iter().filter_map(|end| message.find(end));
    let line = message.lines().next()?;
    Some(ends.min().and_then(|end| line.get(..end)).unwrap_or(line).trim().to_owned())
}

/// The first place that the message names, other than a helper that reports errors. What stands behind it follows from it.
fn place(message: &str) -> Option<String> {
    let named = PLACES.iter().flat_map(|(pattern, written)| {
        pattern.captures_iter(message).map(|captures| {
            let mut place = AT.to_owned();
            captures.expand(written, &mut place);
            (captures.get_match().start(), place)
        })
    });
    named.filter(|(_, place)| !place.starts_with(HELPER)).min().map(|(_, place)| place)
}

fn is_code(check: &str) -> bool {
    (1..=LONGEST).contains(&check.len())
}

/// The most bytes of a check: what is longer is no code.
const LONGEST: usize = 256;

/// What introduces the failed condition in a message of a parser.
const FAILED_ASSERTION: &str = "Assertion failed: ";

/// What introduces a place.
const AT: &str = "at ";

/// Where ONNX Runtime reports every error of CUDA and of its libraries. The place of the call stands behind it.
const HELPER: &str = "at CudaCall in ";

/// How messages name places, and how these are written here: without lines, which differ between versions.
static PLACES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let places = [
        // TensorRT up to version 8
        (r"\[([\w.]+)::([^\s\]]+)::\d+\]", "$2 in $1"),
        // TensorRT from version 10 on, and TensorRT-RTX
        (r"\bIn (\S+) at \S*?([\w.]+):\d", "$1 in $2"),
        // the compiler in both
        (r"\b([\w.]+):\d+: CHECK\(([^\n]+?)\) failed", "$2 in $1"),
        // ONNX Runtime, and its calls of CUDA and cuDNN
        (r"/([\w.]+\.(?:cc|h)):\d+ [^(\n]*?(\w+)\(", "$2 in $1"),
        (r"\bfile=\S*/([\w.]+) ; line=\d+ ; expr=(?:\S*(?:\.|->))?(\w+)\(", "$2 in $1"),
        (r"\bOp \((\w+)\) \[TypeInferenceError\]", "type inference of $1"),
    ];
    // each is tested
    places.into_iter().filter_map(|(pattern, written)| Some((Regex::new(pattern).ok()?, written))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_stands_before_its_explanation() {
        let message = "kINVALID_NODE QuantDequantLinearHelper: kINVALID_NODE at node 3: Assertion failed: K == scaleSize && \"The number";
        assert_eq!(of_refusal(message).as_deref(), Some("K == scaleSize"));
        let of_rtx = "Assertion failed: (bias.d[0] == weights.d[0]): Shape of bias weights = 1, of kernel weights = 4.";
        assert_eq!(of_refusal(of_rtx).as_deref(), Some("(bias.d[0] == weights.d[0])"));
        assert_eq!(of_refusal("Assertion failed: a && b\nnode4: c").as_deref(), Some("a && b"));
        assert_eq!(of_build_failure(message), None, "a builder asserts what follows from an error");
        assert_eq!(of_refusal("Assertion engine failed."), None);
        assert_eq!(of_refusal(&format!("Assertion failed: {}", "a".repeat(1000))), None);
    }

    #[test]
    fn place_is_the_first_that_a_message_names() {
        let places = [
            (
                "buildSerializedNetwork: 10: Could not find any implementation for node W2.; 10: [optimizer.cpp::computeCosts::3869] Error Code 10: Internal Error (Could not find any implementation for node W2.)",
                "at computeCosts in optimizer.cpp",
            ),
            (
                "kINVALID_NODE parseGraph: kINVALID_NODE at node 4: Invalid Node - node4\n[shapeContext.cpp::operator()::4023] Error Code 1",
                "at operator() in shapeContext.cpp",
            ),
            (
                "buildSerializedNetwork: Error Code 1: Internal Error (Node {ForeignNode[a...b]} cannot be quantized by x.\n In quantizePaths at /_src/optimizer/common/rewrite/qdqGraphOptimizer.cpp:4436); [checkMacros.cpp::catchCudaError::229] Error Code 1",
                "at quantizePaths in qdqGraphOptimizer.cpp",
            ),
            (
                "Error Code 1: Myelin ([myelin_graph.h:1295: attachExceptionMsgToGraph] MyelinCheckException: const_ppg.cpp:1478: CHECK(same(op->dimensions(), dims)) failed.  In compileGraph at /_src/optimizer/myelin/codeGenerator.cpp:2012)",
                "at same(op->dimensions(), dims) in const_ppg.cpp",
            ),
            (
                "GenericFailure: Non-zero status code returned while running QLinearConv node. Name:'node4' Status Message: /onnxruntime_src/onnxruntime/core/providers/cpu/quantization/qlinearconv.cc:93 static std::vector<float> onnxruntime::QLinearConv<ActType>::ComputeOutputScale(onnxruntime::OpKernelContext*, int64_t) [with ActType = unsigned char] IsValidQuantParam(W_scale, M) was false.",
                "at ComputeOutputScale in qlinearconv.cc",
            ),
            (
                "buildSerializedNetwork: 2: [helpers.h::operator-=::450] Error Code 2: Internal Error (Assertion (lhs.nbDims == rhs.nbDims) failed. Cannot subtract shapes of unequal rank)",
                "at operator-= in helpers.h",
            ),
            (
                "GenericFailure: Non-zero status code returned while running Conv node. Name:'node1' Status Message: CUDNN_FE failure 7: GRAPH_EXECUTION_FAILED ; GPU=0 ; hostname=vm ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/nn/conv.cc ; line=484 ; expr=s_.cudnn_fe_graph->execute(cudnn_handle, s_.variant_pack, ws.get());",
                "at execute in conv.cc",
            ),
            (
                "ExecutionProviderFailure: Failed to initialize CUDNN Frontend: /onnxruntime_src/onnxruntime/core/providers/cuda/cudnn_fe_call.cc:109 std::conditional_t<THRW, void, onnxruntime::common::Status> onnxruntime::CudaCall(ERRTYPE, const char*, int) [with bool THRW = true] CUDNN_FE failure 8: HEURISTIC_QUERY_FAILED ; GPU=0 ; hostname=vm ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/nn/conv_transpose.cc ; line=199 ; expr=s_.cudnn_fe_graph->create_execution_plans({heur_mode});",
                "at create_execution_plans in conv_transpose.cc",
            ),
            (
                "GenericFailure: CUDNN failure 2000: CUDNN_STATUS_BAD_PARAM ; GPU=0 ; hostname=vm ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/cudnn_common.cc ; line=65 ; expr=cudnnSetTensorNdDescriptor(tensor_, dataType",
                "at cudnnSetTensorNdDescriptor in cudnn_common.cc",
            ),
            (
                "GenericFailure: Node (node20) Op (QLinearAdd) [TypeInferenceError] Scale and Zero-point must be a scalar",
                "at type inference of QLinearAdd",
            ),
        ];
        for (message, place) in places {
            assert_eq!(of_build_failure(message).as_deref(), Some(place));
            assert!(is_place(place));
        }
        assert_eq!(
            of_refusal("kINVALID_NODE parseNode: kINVALID_NODE at node 1 Conv node1: Invalid Node - node1"),
            None
        );
        assert_eq!(PLACES.len(), 6);
    }
}
