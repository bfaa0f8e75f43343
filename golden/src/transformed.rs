//! Convolutions that transform their operands: Winograd's minimal filtering algorithms and the FFT.
//!
//! Both compute bilinear forms of transformed operands, so even small integers are rounded on the way. The bounds follow from
//! the standard model of rounding, and hold for every order of the operations.

use crate::{format::Format, taps::Reach};

/// The largest tile of inputs that Winograd's algorithm is taken to transform along one axis: that of F(6, 3).
const LARGEST_TILE: usize = 8;

/// The kernel extents that implementations are taken to transform by Winograd's algorithm. We know of no library that does for others; no
/// source says that none does.
const TILED_KERNELS: [usize; 2] = [3, 5];

/// The axes along which implementations are taken to transform at most: two, also in three dimensions, where a third would leave nothing of 32 bits.
const MOST_TILED_AXES: usize = 2;

/// The interpolation points, in the order in which larger tiles use them; the last point of every tile is infinity.
const POINTS: [f64; LARGEST_TILE - 1] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5];

/// The transforming algorithms that may compute a convolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transformed {
    /// Winograd's algorithm; `None` if no axis has a kernel for it.
    winograd: Option<Algorithm>,
    /// The FFT.
    fft: Algorithm,
}

/// The error of a transforming algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Algorithm {
    /// How many times the norms of the operands the absolute terms can be.
    amplification: f64,
    /// Roundings on the way from an operand to the sum over the channels, without those of that sum.
    roundings: f64,
    /// How many times the norm of an input channel and that of its kernel the elements of the transformed ones can be.
    growth: [f64; 2],
    /// Kernel elements along the axes that are not transformed: as many transforms are summed for each input channel.
    sums_per_channel: usize,
}

/// The norms of the operands of one output channel, summed over its input channels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Norms {
    /// The largest absolute element of an input channel times the sum of the absolute elements of its kernel.
    pub largest: f64,
    /// The Euclidean norm of an input channel times the sum of the absolute elements of its kernel.
    pub euclidean: f64,
    /// The largest absolute element of any input channel, and the largest Euclidean norm of one.
    pub inputs: [f64; 2],
    /// The largest sum of the absolute elements of a kernel.
    pub kernel: f64,
}

impl Transformed {
    /// The algorithms for a kernel with this reach; `None` unless all strides and dilations are 1, and the kernel has more than one
    /// element. The dilation of an axis with one kernel element has no effect.
    ///
    /// cuDNN requires that along every axis (*cuDNN API Reference*, `cudnnConvolutionForward`, what the algorithms `FFT`, `FFT_TILING`,
    /// `WINOGRAD` and `WINOGRAD_NONFUSED` support), and we know of no library that does not.
    pub fn of(axes: &[Reach]) -> Option<Self> {
        let is_single = |axis: &Reach| axis.kernel == 1;
        let is_dense = |axis: &Reach| axis.stride == 1 && (axis.dilation == 1 || is_single(axis));
        if !axes.iter().all(is_dense) || axes.iter().all(is_single) {
            return None;
        }
        let dense: Vec<&Reach> = axes.iter().filter(|axis| !is_single(axis)).collect();
        let elements =
            |axes: &mut dyn Iterator<Item = &Reach>| axes.map(|axis| axis.kernel).product::<usize>();
        let all = elements(&mut axes.iter());
        let levels = dense.iter().map(|axis| ((axis.input + axis.kernel) as f64).log2().ceil() + 1.0).sum();
        let fft = Algorithm::fft(levels).summed(all / elements(&mut dense.iter().copied()));
        Some(Self { winograd: Algorithm::tiled(&dense, all), fft })
    }

    /// The largest error of a sum over `channels` input channels, in arithmetic of this format with this underflow; infinite if a
    /// transformed operand may overflow.
    pub fn error(&self, norms: Norms, channels: usize, format: Format, underflow: f64) -> f64 {
        let [largest, euclidean] = norms.inputs;
        let of = |algorithm: Algorithm, norm, input| {
            if algorithm.overflows([input, norms.kernel], format) {
                return f64::INFINITY;
            }
            algorithm.error(norm, channels, format, underflow)
        };
        let winograd = self.winograd.map_or(0.0, |winograd| of(winograd, norms.largest, largest));
        winograd.max(of(self.fft, norms.euclidean, euclidean))
    }
}

impl Algorithm {
    /// Winograd's algorithm along those of the `dense` axes that have a kernel for it, as many as are transformed at most, where its error
    /// is the largest; `None` if there is none. The kernel has `all` elements along all axes.
    fn tiled(dense: &[&Reach], all: usize) -> Option<Self> {
        let tiled = dense.iter().filter(|axis| TILED_KERNELS.contains(&axis.kernel));
        let mut tiled: Vec<_> =
            tiled.filter_map(|axis| Some((axis.kernel, Self::winograd(axis.kernel)?))).collect();
        tiled.sort_by(|(_, one), (_, other)| other.error_per_norm().total_cmp(&one.error_per_norm()));
        tiled.truncate(MOST_TILED_AXES);
        let elements: usize = tiled.iter().map(|(kernel, _)| kernel).product();
        let algorithms: Vec<_> = tiled.into_iter().map(|(_, algorithm)| algorithm).collect();
        (!algorithms.is_empty()).then(|| Self::nested(algorithms).summed(all / elements))
    }

    /// The same algorithm with so many transforms summed for each input channel.
    const fn summed(self, sums_per_channel: usize) -> Self {
        Self { sums_per_channel, ..self }
    }

    /// F(m, `kernel`) with the m whose error is the largest; `None` if no tile is large enough for any m above 1.
    ///
    /// With the matrices of the algorithm, the result is Aᵀ(Σ (G·w) ⊙ (Bᵀ·x)). A product of a matrix with n columns takes n + 1
    /// roundings: of the element of the matrix, of its product, and of n − 1 sums. So the error is at most as many times the
    /// unit round-off as there are roundings, times |Aᵀ|(Σ |G|·|w| ⊙ |Bᵀ|·|x|), which the norms bound (Barabasz, Anderson,
    /// Soodhalter and Gregg, *Error analysis and improving the accuracy of Winograd convolution for deep neural networks*, ACM
    /// Trans. Math. Softw. 46, 2020).
    fn winograd(kernel: usize) -> Option<Self> {
        let tiles = kernel + 1..=LARGEST_TILE;
        let algorithms = tiles.map(|tile| Self {
            amplification: amplification(tile, kernel),
            roundings: (kernel + 1 + 2 * (tile + 1)) as f64,
            growth: growth(tile, kernel),
            sums_per_channel: 1,
        });
        algorithms.max_by(|one, other| one.error_per_norm().total_cmp(&other.error_per_norm()))
    }

    /// An algorithm that nests one for each axis.
    fn nested(axes: Vec<Self>) -> Self {
        let one = Self { amplification: 1.0, roundings: 0.0, growth: [1.0; 2], sums_per_channel: 1 };
        axes.into_iter().fold(one, |outer, inner| Self {
            amplification: outer.amplification * inner.amplification,
            roundings: outer.roundings + inner.roundings,
            growth: [outer.growth[0] * inner.growth[0], outer.growth[1] * inner.growth[1]],
            ..outer
        })
    }

    /// Transforms of 2^`levels` points: two of the operands and one of the product. Each has a relative error, in the Euclidean
    /// norm, of η per level with η = u + 4u(√2 + u) < 7u (Higham, *Accuracy and Stability of Numerical Algorithms*, theorem
    /// 24.2); the product of two complex numbers has less than 3u.
    fn fft(levels: f64) -> Self {
        // a sum over 2^levels points is at most the root of their number times their Euclidean norm
        let growth = [(levels / 2.0).exp2(), 1.0];
        Self { amplification: 1.0, roundings: 3.0 * 7.0 * levels + 3.0, growth, sums_per_channel: 1 }
    }

    /// Whether a transformed operand may overflow, given the norms of the largest input channel and of the largest kernel.
    fn overflows(self, norms: [f64; 2], format: Format) -> bool {
        self.growth.iter().zip(norms).any(|(growth, norm)| growth * norm > format.max)
    }

    fn error_per_norm(self) -> f64 {
        self.amplification * self.roundings
    }

    fn error(self, norm: f64, channels: usize, format: Format, underflow: f64) -> f64 {
        let sums = (channels * self.sums_per_channel) as f64;
        // the product, and the sum over the channels, which may be of complex numbers
        let roundings = self.roundings + 1.0 + 2.0 * sums;
        let rounding = roundings * format.unit_roundoff();
        let terms = self.amplification * norm;
        if rounding >= 0.5 || terms > format.max {
            return f64::INFINITY;
        }
        // n roundings have the factor n·u / (1 − n·u)
        rounding / (1.0 - rounding) * terms + roundings * self.amplification * underflow
    }
}

/// The largest sum over the products of a row of |Aᵀ| with the largest element of each row of |G| and the sum of each row of
/// |Bᵀ|, for tiles of `tile` inputs and kernels of `kernel` elements.
///
/// The rows of G and Bᵀ may be scaled against each other, which leaves this number as it is.
fn amplification(tile: usize, kernel: usize) -> f64 {
    let (points, outputs) = (&POINTS[..tile - 1], tile - kernel + 1);
    let products: Vec<f64> = points.iter().map(|point| product_of_rows(points, *point, kernel)).collect();
    // infinity: G has the last coefficient of the kernel, Bᵀ the polynomial that is zero at all other points
    let at_infinity = absolute_sum(&polynomial(points.iter().copied()));
    let rows = (0..outputs).map(|output| {
        let finite =
            points.iter().zip(&products).map(|(point, product)| power(point.abs(), output) * product);
        finite.sum::<f64>() + if output + 1 == outputs { at_infinity } else { 0.0 }
    });
    rows.fold(0.0, f64::max)
}

/// The largest sum of a row of |Bᵀ|, and the largest element of |G|: how many times the largest element of a tile, and the absolute sum of
/// a kernel, the elements of the transformed ones can be.
fn growth(tile: usize, kernel: usize) -> [f64; 2] {
    let points = &POINTS[..tile - 1];
    let at_infinity = absolute_sum(&polynomial(points.iter().copied()));
    let rows = points.iter().map(|point| {
        let others = || points.iter().copied().filter(|other| (other - point).abs() > 0.0);
        let scale: f64 = others().map(|other| (point - other).abs()).product();
        [absolute_sum(&polynomial(others())), power(point.abs(), kernel - 1).max(1.0) / scale]
    });
    rows.fold([at_infinity, 1.0], |[input, kernel], [of_input, of_kernel]| {
        [input.max(of_input), kernel.max(of_kernel)]
    })
}

/// The largest element of a point's row of |G| times the sum of its row of |Bᵀ|.
fn product_of_rows(points: &[f64], point: f64, kernel: usize) -> f64 {
    let others = || points.iter().copied().filter(|other| (other - point).abs() > 0.0);
    let scale: f64 = others().map(|other| (point - other).abs()).product();
    let largest = power(point.abs(), kernel - 1).max(1.0) / scale;
    largest * absolute_sum(&polynomial(others()))
}

/// The coefficients of the monic polynomial with these roots.
fn polynomial(roots: impl Iterator<Item = f64>) -> Vec<f64> {
    roots.fold(vec![1.0], |coefficients, root| {
        let shifted = [0.0].into_iter().chain(coefficients.iter().copied());
        let scaled = coefficients.iter().map(|coefficient| root * coefficient).chain([0.0]);
        shifted.zip(scaled).map(|(shifted, scaled)| shifted - scaled).collect()
    })
}

fn absolute_sum(coefficients: &[f64]) -> f64 {
    coefficients.iter().map(|coefficient| coefficient.abs()).sum()
}

/// Like `powi`, with 0⁰ = 1.
fn power(base: f64, exponent: usize) -> f64 {
    (0..exponent).map(|_| base).product()
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    fn axis(kernel: usize, stride: usize, dilation: usize) -> Reach {
        let reversed = false;
        Reach {
            input: 8,
            output: 6,
            kernel,
            stride,
            dilation,
            begin: 0,
            end: 0,
            output_padding: 0,
            reversed,
            untouched_end: 0,
            strip: 0,
            outside: crate::taps::Outside::Nothing,
            between: crate::taps::Between::Nothing,
        }
    }

    #[test]
    fn amplifications_are_those_of_the_published_matrices() {
        let close = |tile, expected: f64| (amplification(tile, 3) - expected).abs() < 1e-9;
        // F(2, 3): Aᵀ = [1 1 1 0; 0 1 -1 -1], G = [1 0 0; ½ ½ ½; ½ -½ ½; 0 0 1], the rows of |Bᵀ| sum to 2
        assert!(close(4, 4.0), "{}", amplification(4, 3));
        // F(4, 3): 2·(1/6)·10 + 2·8·(1/6)·6 + 10, the last row of Aᵀ being [0 1 -1 8 -8 1]
        assert!(close(6, 10.0 / 3.0 + 16.0 + 10.0), "{}", amplification(6, 3));
    }

    #[test]
    fn only_dense_kernels_are_transformed() {
        assert!(Transformed::of(&[axis(1, 1, 1), axis(3, 1, 1)]).is_some());
        assert!(Transformed::of(&[axis(1, 1, 2), axis(3, 1, 1)]).is_some(), "one element is not dilated");
        for axis in [axis(1, 1, 1), axis(3, 2, 1), axis(3, 1, 2)] {
            assert_eq!(Transformed::of(&[axis]), None);
        }
        for sparse in [axis(3, 2, 1), axis(3, 1, 2), axis(1, 2, 1)] {
            assert_eq!(Transformed::of(&[axis(3, 1, 1), sparse]), None);
        }
    }

    #[test]
    fn two_axes_of_three_are_tiled() {
        let of = |axes: &[Reach]| Transformed::of(axes).expect("a dense kernel").winograd.expect("a tile");
        let (one, two, three) = (of(&[axis(3, 1, 1)]), of(&[axis(3, 1, 1); 2]), of(&[axis(3, 1, 1); 3]));
        assert_eq!((one.sums_per_channel, two.sums_per_channel, three.sums_per_channel), (1, 1, 3));
        assert!(one.amplification < two.amplification);
        assert_eq!(two.amplification.to_bits(), three.amplification.to_bits());
        let mixed = of(&[axis(3, 1, 1), axis(4, 1, 1)]);
        assert_eq!((mixed.amplification.to_bits(), mixed.sums_per_channel), (one.amplification.to_bits(), 4));
    }

    #[test]
    fn other_kernels_have_the_error_of_the_fft() {
        let transformed = Transformed::of(&[axis(4, 1, 1)]).expect("a dense kernel");
        assert_eq!(transformed.winograd, None);
        let norms = Norms { largest: 1.0, euclidean: 2.0, inputs: [1.0, 2.0], kernel: 1.0 };
        let error = transformed.error(norms, 1, Format::of(DataType::Float), 0.0);
        assert!(0.0 < error && error < 1e-3, "{error}");
    }

    #[test]
    fn input_that_overflows_before_small_weights_reduce_it_frees_the_result() {
        let format = Format::of(DataType::Float);
        let transformed = Transformed::of(&[axis(3, 1, 1)]).expect("a dense kernel");
        let error = |input: f64| {
            let norms =
                Norms { largest: input * 1e-6, euclidean: input * 2e-6, inputs: [input; 2], kernel: 1e-6 };
            transformed.error(norms, 1, format, 0.0)
        };
        assert!(error(2e38).is_infinite(), "rows of the transform sum up to ten such elements");
        assert!(error(2e36).is_finite());
    }

    #[test]
    fn overflow_of_a_transformed_operand_frees_the_result() {
        let transformed = Transformed::of(&[axis(3, 1, 1)]).expect("a dense kernel");
        let norms = Norms { largest: 60000.0, euclidean: 60000.0, inputs: [60000.0; 2], kernel: 1.0 };
        assert!(transformed.error(norms, 1, Format::of(DataType::Float16), 0.0).is_infinite());
    }
}
