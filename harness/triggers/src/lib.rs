//! *Triggers*: under which condition a finding shows, in ONNX's words.
//!
//! [`describe`] gives the facts of a case's nodes. A [`Learner`] starts from a node of a minimal case and chooses which other cases to
//! run: those that tell the likeliest conditions apart.
//!
//! ```
//! use twinfer_case::{Axes, Distribution, Fact, Quantity, Relation};
//! use twinfer_generators::Family;
//! use twinfer_triggers::{Learner, describe};
//!
//! // a backend whose grouped convolutions are wrong
//! let grouped = Fact::Number(Axes::Some, Quantity::Group, Relation::Above, 1);
//! let stream = Family::Conv.stream(Distribution::Baseline, 1);
//! let cases: Vec<_> = (0..400).map(|index| describe(&stream.case(index))).collect();
//! let diverges = |place: usize| cases[place].iter().any(|node| node.operator == "Conv" && node.has(grouped));
//!
//! let minimal = cases.iter().flatten().find(|node| node.operator == "Conv" && node.has(grouped));
//! let mut learner = Learner::new(minimal.expect("a grouped convolution"), &cases, 200);
//! loop {
//!     let proposed = learner.propose();
//!     if proposed.is_empty() {
//!         break;
//!     }
//!     for place in proposed {
//!         learner.learn(place, diverges(place));
//!     }
//! }
//! assert_eq!(learner.trigger().expect("it is found").condition(), "Conv where group > 1");
//! ```

mod bits;
mod conditions;
mod described_node;
mod description;
mod evidence;
mod learner;

pub use described_node::{DescribedNode, concerned, satisfies};
pub use description::{describe, describe_runs};
pub use learner::Learner;
