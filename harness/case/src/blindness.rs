use serde::{Deserialize, Serialize};

/// What a comparison of outputs cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blindness {
    /// An error below this may go unseen in some element: the largest bound of the output for which it is largest in proportion;
    /// `None` if there is an element of which any value conforms.
    pub below: Option<f64>,
    /// The largest finite magnitude in that output.
    pub largest: f64,
}

impl Blindness {
    /// The error that may go unseen in proportion to the largest magnitude of the output.
    pub fn share(self) -> f64 {
        match self.below {
            Some(below) if below > 0.0 => below / self.largest,
            Some(_) => 0.0,
            None => f64::INFINITY,
        }
    }
}
