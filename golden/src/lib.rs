//! Reference semantics of the operators twinfer knows, and their error bounds.
//!
//! Golden evaluates a graph in f64 by plain loops and says, element by element, how far a conforming backend may be
//! off ([`Reference`]). Points that ONNX leaves open are named ([`rules()`]); mistakes can be made on purpose
//! ([`Mutant`]).
//!
//! # Two regimes
//!
//! Which one holds is derived from the operands, never declared.
//!
//! **Exact.** Finite floats are dyadic: each is an integer times a power of two. If the elements of x and w are
//! multiples of 2^a and 2^b, every product and every partial sum of products is a multiple of 2^(a+b), in any order.
//! While the sum of absolute products (and the bias) is at most 2^p times that step, p being the bits of the
//! significand, each of them is representable: no direct computation rounds, fused or not, and the result is known
//! exactly. The same argument serves Add, BatchNormalization with power-of-two deviations, and DequantizeLinear.
//! Such an output has a `grid_step` and a bound of zero. Algorithms that transform their operands (Winograd, FFT) round
//! nevertheless, so a deviation below half a step is rounding and one of half a step or more is wrong.
//!
//! **Rounding.** Otherwise the output has a bound. With u the unit round-off of the type that sums are kept in (2^-24
//! for 32-bit, 2^-11 for 16-bit floats), v that of the operator's element type, each with that of f64 added, and eta
//! what one operation may lose near zero:
//!
//! - A dot product of n terms, rounded after each operation, in any order of summation, differs from the exact one by at
//!   most n·u·Σ|x·w| (Jeannerod and Rump, *Improved error bounds for inner products in floating-point arithmetic*, SIAM
//!   J. Matrix Anal. Appl. 34, 2013; no restriction on n). The bias is one more term, each operation may lose eta, and
//!   the result is rounded: `(n + 1)(u·S + eta) + v·|y| + eta` with S = Σ|x·w| + |bias|.
//! - Operands that may be rounded to TF32 are off by 2^-11 of themselves.
//! - Operands with errors e and f add Σ(|x|·f + |w|·e + e·f), and to S as much.
//! - BatchNormalization takes at most 12 roundings of the magnitudes S·|factor| + |mean·factor| + |bias|. S, not |x|:
//!   backends fold the factor into the weights before the sum.
//! - Add takes two roundings (one is for a sum that is fused behind an accumulation). Relu, `MaxPool`, Concat and
//!   Identity take none and move an error no further than it was.
//! - QuantizeLinear divides, or multiplies by a reciprocal: x/scale is off by e/scale and three roundings, none where the
//!   scale is a power of two. Rounding both ends of that interval gives the integers that may come out: usually one,
//!   two where a tie lies inside. That step then propagates through DequantizeLinear and the weights behind it.
//!
//! What is known of a backend's [`Arithmetic`] narrows u and eta. By default 16-bit floats may be accumulated in their own
//! type; and since ONNX does not ask for gradual underflow, eta is the smallest normal number of 32-bit floats and a
//! subnormal operand may be taken for zero. With gradual underflow eta is half the smallest subnormal number.
//!
//! Near the top: where the sum of absolute products and its error pass the largest finite number, a partial sum may
//! overflow and anything may come out; the bound is infinite. NaN and infinities among the operands have the same
//! effect, since ONNX does not say whether padding is multiplied. [`Agreement`] is the policy for comparing.
//!
//! Golden itself rounds in f64, which the bounds include.

mod arithmetic;
mod attributes;
mod batch_normalization;
mod concat;
mod convolution;
mod elementwise;
mod evaluate;
mod evaluator;
mod explanations;
mod format;
mod mutants;
mod pooling;
mod quantization;
mod reference;
mod rounding;
mod rules;
mod semantics;
mod step;
mod taps;
mod value;

pub use arithmetic::{Arithmetic, Operands, Subnormals, Sums};
pub use evaluate::{
    Evaluation, MAX_ELEMENTS, MAX_MULTIPLY_ACCUMULATES, Unknown, evaluate, evaluate_as, evaluate_with,
};
pub use explanations::Explanation;
pub use mutants::{Mutant, Nature};
pub use reference::{Agreement, Reference};
pub use rules::{Entry, rules};
