//! The provider on which ONNX Runtime placed each node, from its log.

use std::sync::{Arc, Mutex, PoisonError};

use twinfer_case::LayerInfo;

use super::optimized::original_name;

/// Collects node placements out of a session's log at its highest verbosity; shared with the library's callback.
///
/// ONNX Runtime logs ` Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1` and after it a line a node,
/// `  ConvTranspose (deconv)`; one line, ` All nodes placed on […]`, where there is one provider.
#[derive(Clone, Default)]
pub struct Placements(Arc<Mutex<Collected>>);

#[derive(Default)]
struct Collected {
    provider: Option<String>,
    nodes: Vec<Placed>,
}

struct Placed {
    provider: String,
    operator: String,
    name: String,
}

impl Placements {
    /// Takes a line of the log; callable from any thread.
    pub fn push(&self, text: &str) {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = heading(text) {
            collected.provider = Some(provider.to_owned());
        } else if let (Some(provider), Some((operator, name))) = (collected.provider.clone(), node(text)) {
            let (operator, name) = (operator.to_owned(), name.to_owned());
            collected.nodes.push(Placed { provider, operator, name });
        } else {
            collected.provider = None;
        }
    }

    /// The nodes that were placed elsewhere than on `provider`.
    pub fn elsewhere(&self, provider: &str) -> Vec<LayerInfo> {
        let collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        collected.nodes.iter().filter(|placed| placed.provider != provider).map(layer).collect()
    }

    /// Whether there are convolutions, and all of them were placed on `provider`.
    pub fn convolve_on(&self, provider: &str) -> bool {
        let collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut convolutions =
            collected.nodes.iter().filter(|placed| placed.operator.contains("Conv")).peekable();
        convolutions.peek().is_some() && convolutions.all(|placed| placed.provider == provider)
    }
}

fn heading(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once("placed on [")?;
    behind.split_once(']').map(|(provider, _)| provider)
}

/// `  ConvTranspose (deconv)`.
fn node(text: &str) -> Option<(&str, &str)> {
    let (operator, name) = text.strip_prefix("  ")?.trim_end().strip_suffix(')')?.split_once(" (")?;
    (!operator.is_empty() && !operator.contains(' ')).then_some((operator, name))
}

fn layer(placed: &Placed) -> LayerInfo {
    LayerInfo {
        name: placed.name.clone(),
        operator: placed.operator.clone(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        weights: None,
        tactic: None,
        placement: Some(placed.provider.clone()),
        nodes: vec![original_name(&placed.name).to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_listed_under_the_provider_that_they_were_placed_on() {
        let placements = Placements::default();
        for line in [
            "Node placements",
            " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1",
            "  ConvTranspose (deconv_token_1)",
            " Node(s) placed on [CUDAExecutionProvider]. Number of nodes: 2",
            "  Relu (relu)",
            "  MemcpyToHost (Memcpy)",
            "SaveMLValueNameIndexMapping",
            "  Relu (not a placement any more)",
        ] {
            placements.push(line);
        }
        let elsewhere = placements.elsewhere("CUDAExecutionProvider");
        let [layer] = &elsewhere[..] else { panic!("{elsewhere:?}") };
        assert_eq!(
            (layer.operator.as_str(), &layer.nodes[..]),
            ("ConvTranspose", &["deconv".to_owned()][..])
        );
        assert_eq!(layer.placement.as_deref(), Some("CPUExecutionProvider"));
        assert!(placements.convolve_on("CPUExecutionProvider"));
        placements.push(" Node(s) placed on [CUDAExecutionProvider]. Number of nodes: 1");
        placements.push("  FusedConv (conv)");
        assert!(!placements.convolve_on("CPUExecutionProvider"), "one of two runs on the device");
        assert!(!Placements::default().convolve_on("CPUExecutionProvider"));
    }

    #[test]
    fn one_provider_is_named_without_its_nodes() {
        let placements = Placements::default();
        placements.push(" All nodes placed on [CPUExecutionProvider]. Number of nodes: 5");
        assert!(placements.elsewhere("CUDAExecutionProvider").is_empty());
    }
}
