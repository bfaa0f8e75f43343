mod attributes;
pub mod axes;
mod bounds;
mod candidates;
pub mod channels;
mod nodes;
mod parameters;
mod runs;
mod scales;
mod values;

use twinfer_case::Case;

use self::candidates::Candidates;
use crate::fit::Baseline;

/// One way to simplify a case.
pub struct Pass {
    /// What reports call it.
    pub name: &'static str,
    /// Edited copies of a case, the boldest first; they need not be sound yet.
    pub propose: for<'a> fn(&'a Case, &'a Baseline) -> Candidates<'a>,
}

/// Every pass, in the order in which they are tried.
pub const PASSES: &[Pass] = &[
    Pass { name: "keep one node", propose: nodes::keep_one },
    Pass { name: "drop nodes at an end", propose: nodes::drop_ends },
    Pass { name: "bypass a node", propose: nodes::bypass },
    Pass { name: "fewer outputs", propose: nodes::fewer_outputs },
    Pass { name: "drop the bias", propose: parameters::drop_bias },
    Pass { name: "fewer runs", propose: runs::fewer },
    Pass { name: "batch to 1", propose: runs::batch_to_one },
    Pass { name: "dynamic axes to fixed", propose: runs::fix_axes },
    Pass { name: "element type to FLOAT", propose: values::to_float },
    Pass { name: "drop a spatial axis", propose: axes::drop_axis },
    Pass { name: "fewer groups", propose: channels::fewer_groups },
    Pass { name: "fewer channels in and out", propose: channels::fewer_both },
    Pass { name: "fewer input channels", propose: channels::fewer_inputs },
    Pass { name: "fewer output channels", propose: channels::fewer_outputs },
    Pass { name: "smaller input", propose: axes::shrink_input },
    Pass { name: "smaller output", propose: axes::shrink_output },
    Pass { name: "smaller kernel", propose: axes::shrink_kernel },
    Pass { name: "attribute to its default", propose: attributes::to_default },
    Pass { name: "attribute nearer to its default", propose: attributes::toward_default },
    Pass { name: "attribute in canonical form", propose: attributes::canonical },
    Pass { name: "computed parameter to initializer", propose: parameters::fold },
    Pass { name: "computed parameter by Identity", propose: parameters::by_identity },
    Pass { name: "input to initializer", propose: parameters::fix_input },
    Pass { name: "no TF32", propose: parameters::forbid_tf32 },
    Pass { name: "simpler values", propose: values::simplify },
];
