use crate::{Entry, Reference};

/// The outputs of a graph for given inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// One reference per graph output, in the graph's order.
    pub outputs: Vec<Reference>,
    /// The open points of the specification that the graph touches, each once.
    pub unspecified: Vec<&'static Entry>,
    /// The open points that only single elements touch, each once: any value of these elements conforms.
    pub open: Vec<&'static Entry>,
}
