use std::{collections::BTreeSet, fmt, iter};

use serde::{Deserialize, Serialize};

use crate::Blindness;

/// Where a model goes wrong: the first segment between observed values whose output is wrong, given its inputs as the backend
/// itself computed them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// The nodes of the segment, in the graph's order.
    pub nodes: Vec<NamedNode>,
    /// The names of the computed values and graph inputs that the segment reads.
    pub inputs: Vec<String>,
    /// The name of the value that is wrong.
    pub output: String,
    /// Under which conditions the segment is wrong.
    pub shown: Shown,
    /// The largest difference of the value from golden's; `None` if the shapes differ or a difference is not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The segments behind it that are wrong too, each given its inputs as the backend itself computed them, or as golden does for a backend
    /// that returns no values inside the graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<WrongSegment>,
}

/// A segment behind the culprit that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrongSegment {
    /// The nodes of the segment, in the graph's order.
    pub nodes: Vec<NamedNode>,
    /// The name of the value that is wrong.
    pub output: String,
    /// As [`Culprit::difference`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
}

/// A node by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedNode {
    /// The node's name in the model; may be empty.
    pub name: String,
    /// ONNX's name for its operator.
    pub operator: String,
    /// The name of the node's first output if the node has no name, and empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

impl NamedNode {
    /// A node with this name, operator, and first output.
    pub fn new(name: &str, operator: &str, output: &str) -> Self {
        let output = if name.is_empty() { output.to_owned() } else { String::new() };
        Self { name: name.to_owned(), operator: operator.to_owned(), output }
    }

    /// Its name, or that of its first output.
    fn place(&self) -> &str {
        if self.name.is_empty() { &self.output } else { &self.name }
    }
}

/// Under which conditions a segment is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// As a model of its own, too.
    Alone,
    /// Only inside the whole model.
    InPlace,
    /// Only while none of the values between its nodes is observed: each node is right if it is observed by itself.
    Fused,
    /// In the outputs of the whole model: its wrong segments, one after another, give other outputs.
    Whole,
}

/// Segments that were judged, and those that were not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentCounts {
    /// How many segments golden judged.
    pub judged: u64,
    /// The nodes that no judged segment covers, by the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<NotJudged>,
    /// The segment that was judged right and whose comparison sees least; `None` if each sees all errors that are large in proportion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blindest: Option<BlindSegment>,
}

/// A segment whose comparison cannot see much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlindSegment {
    /// The first of its nodes that is no quantizer, if there is one.
    pub node: NamedNode,
    /// What its comparison cannot see.
    #[serde(flatten)]
    pub blindness: Blindness,
}

impl BlindSegment {
    /// The segment of these nodes; `None` if there are none.
    pub fn new(nodes: &[NamedNode], blindness: Blindness) -> Option<Self> {
        let node = named(nodes).next()?.clone();
        Some(Self { node, blindness })
    }

    /// The one of two whose comparison sees less.
    #[must_use]
    pub fn blinder(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let share = |segment: &Option<Self>| segment.as_ref().map(|segment| segment.blindness.share());
        if share(&other) > share(&one) { other } else { one }
    }
}

/// Nodes that no comparison covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotJudged {
    /// Why.
    pub reason: String,
    /// How many nodes.
    pub nodes: u64,
    /// The first of them.
    pub first: NamedNode,
}

impl Culprit {
    /// Whether this node is part of the segment.
    pub fn has(&self, node: &NamedNode) -> bool {
        self.nodes.contains(node)
    }

    /// Whether both are the same segment under the same conditions.
    pub fn is_segment_of(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.inputs == other.inputs
            && self.output == other.output
            && self.shown == other.shown
    }

    /// Where each wrong segment is, the culprit first: the names of its nodes without the quantizers around them, or those of their outputs where
    /// nodes have none.
    pub fn places(&self) -> impl Iterator<Item = BTreeSet<&str>> {
        self.differences().map(|(place, _)| place)
    }

    /// The [places](Self::places), each with the largest difference there.
    pub fn differences(&self) -> impl Iterator<Item = (BTreeSet<&str>, Option<f64>)> {
        let behind = self.behind.iter();
        let behind = behind.map(|segment| (place(&segment.nodes, &segment.output), segment.difference));
        iter::once((place(&self.nodes, &self.output), self.difference)).chain(behind)
    }
}

/// The nodes by which a segment is named: those that are no quantizers, if there are any.
fn named(nodes: &[NamedNode]) -> impl Iterator<Item = &NamedNode> {
    let is_quantizer =
        |node: &NamedNode| matches!(node.operator.as_str(), "QuantizeLinear" | "DequantizeLinear");
    let all_are = nodes.iter().all(is_quantizer);
    nodes.iter().filter(move |node| all_are || !is_quantizer(node))
}

fn place<'a>(nodes: &'a [NamedNode], output: &'a str) -> BTreeSet<&'a str> {
    let names: BTreeSet<_> = named(nodes).map(NamedNode::place).filter(|name| !name.is_empty()).collect();
    if names.is_empty() { BTreeSet::from([output]) } else { names }
}

impl SegmentCounts {
    /// Counts a node as not judged.
    pub fn skip(&mut self, reason: &str, node: NamedNode) {
        match self.not_judged.iter_mut().find(|known| known.reason == reason) {
            Some(known) => known.nodes += 1,
            None => self.not_judged.push(NotJudged { reason: reason.to_owned(), nodes: 1, first: node }),
        }
    }
}

impl fmt::Display for Culprit {
    /// Such as `node "conv3" (Conv), "r2" → "c3"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.nodes.len() == 1 { "node " } else { "nodes " })?;
        for (place, node) in self.nodes.iter().enumerate() {
            write!(f, "{}{node}", if place == 0 { "" } else { ", " })?;
        }
        for (place, input) in self.inputs.iter().enumerate() {
            write!(f, "{}{input:?}", if place == 0 { "; from " } else { ", " })?;
        }
        write!(f, " to {:?}", self.output)?;
        f.write_str(match self.shown {
            Shown::Alone => "",
            Shown::InPlace => "; only inside this model",
            Shown::Fused => "; only if the values between these nodes are not observed",
            Shown::Whole => "; what is wrong at single nodes does not account for it",
        })
    }
}

impl fmt::Display for WrongSegment {
    /// Such as `"conv5" (Conv)`, without the quantizers around other nodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, node) in named(&self.nodes).enumerate() {
            write!(f, "{}{node}", if place == 0 { "" } else { " + " })?;
        }
        Ok(())
    }
}

impl fmt::Display for NamedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.as_str(), self.output.as_str()) {
            ("", "") => write!(f, "{} (unnamed)", self.operator),
            ("", output) => write!(f, "{} that computes {output:?}", self.operator),
            (name, _) => write!(f, "{name:?} ({})", self.operator),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_of_which_the_comparison_sees_least_counts() {
        let nodes = [NamedNode::new("q", "QuantizeLinear", "q"), NamedNode::new("c", "Conv", "c")];
        let of = |below| BlindSegment::new(&nodes, Blindness { below, largest: 4.0 });
        let [narrow, wide, open] = [of(Some(0.1)), of(Some(2.0)), of(None)];
        assert_eq!(
            narrow.as_ref().map(|segment| segment.node.name.as_str()),
            Some("c"),
            "it is no quantizer"
        );
        assert_eq!(BlindSegment::blinder(None, narrow.clone()), narrow);
        assert_eq!(BlindSegment::blinder(wide.clone(), narrow), wide);
        assert_eq!(BlindSegment::blinder(wide, open.clone()), open);
        assert_eq!(BlindSegment::blinder(open.clone(), None), open);
    }

    #[test]
    fn nodes_without_names_are_named_by_their_outputs() {
        let nodes = vec![
            NamedNode::new("", "DequantizeLinear", "c6_dq"),
            NamedNode::new("", "Conv", "c6"),
            NamedNode::new("relu6", "Relu", "r6"),
        ];
        let behind = WrongSegment { nodes, output: "r6".to_owned(), difference: None };
        assert_eq!(behind.to_string(), r#"Conv that computes "c6" + "relu6" (Relu)"#);
        let culprit = Culprit {
            nodes: vec![NamedNode::new("", "Conv", "c3")],
            inputs: Vec::new(),
            output: "c3".to_owned(),
            shown: Shown::Alone,
            difference: None,
            behind: vec![behind],
        };
        let places: Vec<_> = culprit.places().collect();
        assert_eq!(places, [BTreeSet::from(["c3"]), BTreeSet::from(["c6", "relu6"])]);
    }
}
