//! The absolute part of the tolerance for outputs of functions that saturate.
//!
//! Such a function maps arguments of any size to values near a bound or near zero, so the largest output does not say how large the
//! numbers were that it was computed from. Two terms do not depend on the outputs:
//!
//! - The argument x has the relative error r of the module `tolerance`, which changes f(x) by at most r·E with E the supremum of
//!   |x·f′(x)|, for one-sided functions over negative x.
//! - Libraries compute f through numbers as large as its range R, such as ½ + ½·tanh(x/2) for Sigmoid, 1 − erfc(x) for Erf and
//!   exp(x) − 1 for Elu, and round them. At most 2^3 roundings to the element type change each of two outputs by 2^3·v·R.
//!
//! | operator | R | E | derivation of E |
//! | --- | --- | --- | --- |
//! | `Sigmoid` | 1 | 0.224 | x·e^x/(1 + e^x)² is largest where x·tanh(x/2) = 1 |
//! | `HardSigmoid` | 1 | max(\|β\|, \|1 − β\|) | x·f′(x) = α·x = y − β for y in \[0, 1\] |
//! | `Tanh` | 1 | 0.448 | x·(1 − tanh²x) is largest where x·tanh x = ½ |
//! | `Erf` | 1 | 0.484 | 2/√π·x·exp(−x²) is largest where x² = ½ |
//! | `Softsign` | 1 | 0.25 | x/(1 + x)² is largest where x = 1 |
//! | `Softmax` | 1 | 1/e + ln n | of n outputs; see below |
//! | `Softplus` | 1 | 0.279 | −x·e^x/(1 + e^x) is largest where −x = 1 + e^x |
//! | `Elu`, `Celu` | α | α/e | −x·e^x is largest where x = −1 |
//! | `Selu` | γ·α | γ·α/e | as Elu |
//!
//! Softmax depends on the distances d = max x − x ≥ 0 alone: y = e^−d/Σe^−d. Relative errors r of the distances change y by at most
//! r·y·(d + Σ y·d). Here y·d ≤ d·e^−d ≤ 1/e, and Σ y·d is the entropy of y minus ln Σe^−d ≥ 0, hence at most ln n.

use std::f64::consts::E;

use twinfer_onnx::FlowNode;

/// How far the outputs of a function that saturates may be off, whatever their size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// The R of the module's table.
    pub range: f64,
    /// The E of the module's table, but for Softmax without ln n.
    pub sensitivity: f64,
    /// Whether ln n is added to the sensitivity, n being the number of outputs.
    pub is_normalized: bool,
}

impl Saturation {
    /// The saturation of the operator of `node`; `None` if its outputs grow with its inputs.
    pub fn of(node: &FlowNode) -> Option<Self> {
        let one_sided = |range: f64| (range.abs(), range.abs() / E);
        let (range, sensitivity) = match node.op_type.as_str() {
            "Sigmoid" => (1.0, 0.224),
            "HardSigmoid" => {
                let beta = node.float("beta", 0.5);
                (1.0, beta.abs().max((1.0 - beta).abs()))
            }
            "Tanh" => (1.0, 0.448),
            "Erf" => (1.0, 0.484),
            "Softsign" => (1.0, 0.25),
            "Softmax" => (1.0, 1.0 / E),
            "Softplus" => (1.0, 0.279),
            "Elu" | "Celu" => one_sided(node.float("alpha", 1.0)),
            "Selu" => one_sided(node.float("alpha", 1.673_263_2) * node.float("gamma", 1.050_701)),
            _ => return None,
        };
        Some(Self { range, sensitivity, is_normalized: node.op_type == "Softmax" })
    }

    /// The wider one of each part.
    pub fn or(self, other: Self) -> Self {
        Self {
            range: self.range.max(other.range),
            sensitivity: self.sensitivity.max(other.sensitivity),
            is_normalized: self.is_normalized || other.is_normalized,
        }
    }

    /// The E of the module's table for a tensor of this many elements.
    pub fn sensitivity(self, elements: usize) -> f64 {
        let of_sum = if self.is_normalized { (elements.max(1) as f64).ln() } else { 0.0 };
        self.sensitivity + of_sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(op_type: &str) -> FlowNode {
        FlowNode { op_type: op_type.to_owned(), ..FlowNode::default() }
    }

    /// A function with the arguments over which E is a supremum.
    type Case = (&'static str, fn(f64) -> f64, f64, f64);

    #[test]
    fn sensitivities_bound_the_change_of_every_function() {
        const SELU: (f64, f64) = (1.673_263_2, 1.050_701);
        let cases: [Case; 8] = [
            ("Sigmoid", |x| 1.0 / (1.0 + (-x).exp()), -30.0, 30.0),
            ("HardSigmoid", |x| (0.2 * x + 0.5).clamp(0.0, 1.0), -10.0, 10.0),
            ("Tanh", f64::tanh, -20.0, 20.0),
            ("Softsign", |x| x / (1.0 + x.abs()), -50.0, 50.0),
            ("Softplus", |x| x.exp().ln_1p(), -30.0, 0.0),
            ("Elu", |x| x.exp_m1(), -30.0, 0.0),
            ("Celu", |x| x.exp_m1(), -30.0, 0.0),
            ("Selu", |x| SELU.0 * SELU.1 * x.exp_m1(), -30.0, 0.0),
        ];
        for (op_type, function, from, to) in cases {
            let bound = Saturation::of(&node(op_type)).expect("it saturates").sensitivity(1);
            let slope = |x: f64| (function(x + 1e-6) - function(x - 1e-6)) / 2e-6;
            let steps = (0..=100_000).map(|step| from + (to - from) * f64::from(step) / 1e5);
            let largest = steps.map(|x| (x * slope(x)).abs()).fold(0.0, f64::max);
            assert!(largest <= bound * 1.0001 && largest >= 0.98 * bound, "{op_type}: {largest} {bound}");
        }
    }

    /// A relative error.
    const R: f64 = 1e-4;

    #[test]
    fn softmax_of_perturbed_distances_stays_within_its_sensitivity() {
        let softmax = |d: &[f64]| {
            let sum: f64 = d.iter().map(|d| (-d).exp()).sum();
            d.iter().map(|d| (-d).exp() / sum).collect::<Vec<_>>()
        };
        let saturation = Saturation::of(&node("Softmax")).expect("it saturates");
        for count in [2, 7, 100] {
            for spread in [0.1, 1.0, 3.0, 20.0] {
                let distances: Vec<_> =
                    (0..count).map(|i| spread * f64::from(i) / f64::from(count)).collect();
                let signs = |i: usize| if i.is_multiple_of(3) { 1.0 + R } else { 1.0 - R };
                let moved: Vec<_> = distances.iter().enumerate().map(|(i, d)| d * signs(i)).collect();
                let bound = R * saturation.sensitivity(distances.len()) * 1.001;
                let pairs = softmax(&distances).into_iter().zip(softmax(&moved));
                pairs.for_each(|(one, other)| assert!((one - other).abs() <= bound));
            }
        }
    }

    #[test]
    fn functions_that_grow_have_no_saturation() {
        assert_eq!(Saturation::of(&node("Gemm")), None);
        assert_eq!(Saturation::of(&node("com.microsoft:Sigmoid")), None);
    }
}
