//! What the names of kernels say about the algorithms of an engine's convolutions.

use twinfer_case::{Algorithms, LayerInfo};

/// Layers of which every kernel multiplies its operands.
const DIRECT_LAYERS: [&str; 2] = ["CaskGemmDeconvolution", "CudaDepthwiseConvolution"];

/// What the names of other kernels contain that multiply their operands. Those of Winograd's algorithm contain `winograd`.
const DIRECT_TACTICS: [&str; 8] = [
    "implicit_gemm",
    "direct_group",
    "conv2d_c1_k1",
    "conv3d_c1_k1",
    "deconv_2d",
    "deconv_3d",
    "deconv_generic",
    "depthwise",
];

/// Direct convolutions if there are some and each is of a kernel that is known to be direct; `None` if one is not, or if a layer hides what it
/// computes.
pub fn algorithms(layers: &[LayerInfo]) -> Option<Algorithms> {
    let mut convolutions = layers.iter().filter(|layer| layer.operator.contains("onvolution")).peekable();
    let is_known =
        convolutions.peek().is_some() && convolutions.all(is_direct) && !layers.iter().any(is_opaque);
    is_known.then_some(Algorithms::DirectConvolutions)
}

fn is_direct(layer: &LayerInfo) -> bool {
    let contains = |name: &str| DIRECT_TACTICS.iter().any(|direct| name.contains(direct));
    DIRECT_LAYERS.contains(&layer.operator.as_str()) || layer.tactic.as_deref().is_some_and(contains)
}

/// Whether a layer is a part of the graph that TensorRT gave to another compiler, whose kernels have no telling names.
fn is_opaque(layer: &LayerInfo) -> bool {
    layer.operator == "Myelin"
        || layer.name.contains("ForeignNode")
        || layer.tactic.as_deref().is_some_and(|tactic| tactic.starts_with("__my"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(operator: &str, tactic: Option<&str>) -> LayerInfo {
        LayerInfo {
            name: "layer".to_owned(),
            operator: operator.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            weights: None,
            tactic: tactic.map(str::to_owned),
            placement: None,
            nodes: Vec::new(),
        }
    }

    #[test]
    fn engines_are_direct_if_all_kernels_of_their_convolutions_are() {
        let direct = Some(Algorithms::DirectConvolutions);
        let gemm =
            layer("CaskConvolution", Some("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc"));
        let winograd =
            layer("CaskConvolution", Some("sm80_xmma_fprop_winograd_f32f32_f32_f32_nchwkcrs_nchw"));
        let by_layer = layer("CaskGemmDeconvolution", None);
        let (unnamed, other) = (layer("CaskConvolution", None), layer("Reformat", None));
        assert_eq!(algorithms(&[gemm.clone(), other.clone(), by_layer.clone()]), direct);
        for tactic in [
            "sm50_xmma_fprop_direct_group_f32f32_f32_f32_nchwkcrs_nchw_3D_generic",
            "sm50_xmma_deconv_generic_f32f32_f32_f32_nchwkcrs_nchw",
        ] {
            assert_eq!(
                algorithms(&[gemm.clone(), layer("CaskConvolution", Some(tactic))]),
                direct,
                "{tactic}"
            );
        }
        assert_eq!(algorithms(&[gemm.clone(), winograd]), None);
        assert_eq!(algorithms(&[by_layer.clone(), unnamed]), None);
        assert_eq!(algorithms(&[other]), None, "the convolutions are in none of these layers");
    }

    #[test]
    fn an_engine_with_a_layer_that_hides_its_kernels_is_not_known_to_be_direct() {
        let by_layer = layer("CaskGemmDeconvolution", None);
        for opaque in [
            layer("Myelin", None),
            LayerInfo { name: "{ForeignNode[conv1...conv2]}".to_owned(), ..layer("Other", None) },
            layer("deconv", Some("__myelin_CASK_STUB")),
        ] {
            assert_eq!(algorithms(&[by_layer.clone(), opaque]), None);
        }
    }
}
