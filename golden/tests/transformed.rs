//! Convolutions whose operands are transformed stay within the bounds for such algorithms, and direct ones are exact.
//!
//! The other side is a backend of a few lines in 32-bit floats, with the published matrices of F(2, 3) and F(4, 3) written out,
//! and a Fourier transform.

mod support;

use std::f64::consts::TAU;

use proptest::{prelude::*, test_runner::RngSeed};
use support::one_node;
use twinfer_golden::{Agreement, Algorithms, Arithmetic, Reference, evaluate_as};
use twinfer_onnx::{Conv, DataType, Graph, Initializer, Op, Tensor};

/// The matrices of an algorithm F(m, 3) that computes m outputs of a kernel of three elements.
struct Winograd {
    output: Vec<Vec<f32>>,
    kernel: Vec<Vec<f32>>,
    input: Vec<Vec<f32>>,
}

/// Lavin and Gray, *Fast algorithms for convolutional neural networks*, 2015.
fn f2() -> Winograd {
    let rows = |rows: &[&[f32]]| rows.iter().map(|row| row.to_vec()).collect();
    Winograd {
        output: rows(&[&[1.0, 1.0, 1.0, 0.0], &[0.0, 1.0, -1.0, -1.0]]),
        kernel: rows(&[&[1.0, 0.0, 0.0], &[0.5, 0.5, 0.5], &[0.5, -0.5, 0.5], &[0.0, 0.0, 1.0]]),
        input: rows(&[
            &[1.0, 0.0, -1.0, 0.0],
            &[0.0, 1.0, 1.0, 0.0],
            &[0.0, -1.0, 1.0, 0.0],
            &[0.0, 1.0, 0.0, -1.0],
        ]),
    }
}

fn f4() -> Winograd {
    let rows = |rows: &[&[f32]]| rows.iter().map(|row| row.to_vec()).collect();
    let (sixth, twelfth, twenty_fourth) = (1.0 / 6.0, 1.0 / 12.0, 1.0 / 24.0);
    Winograd {
        output: rows(&[
            &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
            &[0.0, 1.0, -1.0, 2.0, -2.0, 0.0],
            &[0.0, 1.0, 1.0, 4.0, 4.0, 0.0],
            &[0.0, 1.0, -1.0, 8.0, -8.0, 1.0],
        ]),
        kernel: rows(&[
            &[0.25, 0.0, 0.0],
            &[-sixth, -sixth, -sixth],
            &[-sixth, sixth, -sixth],
            &[twenty_fourth, twelfth, sixth],
            &[twenty_fourth, -twelfth, sixth],
            &[0.0, 0.0, 1.0],
        ]),
        input: rows(&[
            &[4.0, 0.0, -5.0, 0.0, 1.0, 0.0],
            &[0.0, -4.0, -4.0, 1.0, 1.0, 0.0],
            &[0.0, 4.0, -4.0, -1.0, 1.0, 0.0],
            &[0.0, -2.0, -1.0, 2.0, 1.0, 0.0],
            &[0.0, 2.0, -1.0, -2.0, 1.0, 0.0],
            &[0.0, 4.0, 0.0, -5.0, 0.0, 1.0],
        ]),
    }
}

/// `matrix` · `columns` in 32-bit floats.
fn product(matrix: &[Vec<f32>], columns: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let width = columns[0].len();
    let row = |row: &Vec<f32>| {
        (0..width)
            .map(|column| row.iter().zip(columns).fold(0.0, |sum, (a, b)| sum + a * b[column]))
            .collect()
    };
    matrix.iter().map(row).collect()
}

fn transposed(rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
    (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
}

/// `matrix` · `inner` · `matrix`ᵀ.
fn both_sides(matrix: &[Vec<f32>], inner: &[Vec<f32>]) -> Vec<Vec<f32>> {
    transposed(&product(matrix, &transposed(&product(matrix, inner))))
}

impl Winograd {
    /// One tile of outputs: of channels of inputs and of kernels.
    fn tile(&self, x: &[Vec<Vec<f32>>], w: &[Vec<Vec<f32>>]) -> Vec<Vec<f32>> {
        let size = self.input.len();
        let mut sum = vec![vec![0.0f32; size]; size];
        for (x, w) in x.iter().zip(w) {
            let (x, w) = (both_sides(&self.input, x), both_sides(&self.kernel, w));
            for (row, place) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
                sum[row][place] += x[row][place] * w[row][place];
            }
        }
        both_sides(&self.output, &sum)
    }

    /// Outputs of one tile.
    fn outputs(&self) -> usize {
        self.output.len()
    }
}

/// A sum over channels of the products of Fourier transforms, in 32-bit floats: a cyclic correlation.
fn by_fourier(x: &[Vec<f32>], w: &[Vec<f32>]) -> Vec<f32> {
    let points = x[0].len();
    let (mut real, mut imaginary) = (vec![0.0f32; points], vec![0.0f32; points]);
    for (x, w) in x.iter().zip(w) {
        let mut padded = w.clone();
        padded.resize(points, 0.0);
        let (x, w) = (fourier((x, &vec![0.0; points]), -1.0), fourier((&padded, &vec![0.0; points]), -1.0));
        for place in 0..points {
            // times the conjugate, so that the kernel is not flipped
            real[place] += x.0[place] * w.0[place] + x.1[place] * w.1[place];
            imaginary[place] += x.1[place] * w.0[place] - x.0[place] * w.1[place];
        }
    }
    let (sums, _) = fourier((&real, &imaginary), 1.0);
    sums.into_iter().map(|sum| sum / points as f32).collect()
}

/// The fast Fourier transform of 2^t points.
fn fourier((real, imaginary): (&[f32], &[f32]), sign: f64) -> (Vec<f32>, Vec<f32>) {
    let points = real.len();
    if points == 1 {
        return (real.to_vec(), imaginary.to_vec());
    }
    let every_other =
        |values: &[f32], first: usize| values.iter().skip(first).step_by(2).copied().collect::<Vec<_>>();
    let half = |first| fourier((&every_other(real, first), &every_other(imaginary, first)), sign);
    let (even, odd) = (half(0), half(1));
    let (mut re, mut im) = (vec![0.0; points], vec![0.0; points]);
    for place in 0..points / 2 {
        let angle = sign * TAU * place as f64 / points as f64;
        let (cosine, sine) = (angle.cos() as f32, angle.sin() as f32);
        let twisted_re = cosine * odd.0[place] - sine * odd.1[place];
        let twisted_im = cosine * odd.1[place] + sine * odd.0[place];
        (re[place], im[place]) = (even.0[place] + twisted_re, even.1[place] + twisted_im);
        (re[place + points / 2], im[place + points / 2]) =
            (even.0[place] - twisted_re, even.1[place] - twisted_im);
    }
    (re, im)
}

fn graph(x: &[usize], w: &[usize], elements: &[f64]) -> Graph {
    let (mut graph, _) = one_node(Op::Conv(Conv::default()), x, w, 1);
    let tensor = Tensor::from_f64(DataType::Float, w.to_vec(), elements).expect("as many as it holds");
    graph.initializers = vec![Initializer { name: "W".to_owned(), tensor }];
    graph.nodes[0].inputs.truncate(2);
    graph
}

/// The reference for a convolution of X with W, for backends of these algorithms.
fn reference(x: (&[usize], &[f64]), w: (&[usize], &[f64]), algorithms: Algorithms) -> Reference {
    let input = Tensor::from_f64(DataType::Float, x.0.to_vec(), x.1).expect("as many as it holds");
    let arithmetic = Arithmetic::STRICT.with(algorithms);
    evaluate_as(&graph(x.0, w.0, w.1), &[input], arithmetic, &[]).expect("valid").outputs.remove(0)
}

fn is_wrong(reference: &Reference, place: usize, given: f32) -> bool {
    matches!(reference.compare(place, f64::from(given)), Agreement::Wrong(_))
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Consecutive squares of `side` elements.
fn squares(elements: &[f32], side: usize) -> Vec<Vec<Vec<f32>>> {
    elements.chunks(side * side).map(|square| square.chunks(side).map(<[f32]>::to_vec).collect()).collect()
}

/// Small integers, or numbers of all sizes.
fn elements(count: usize) -> impl Strategy<Value = Vec<f32>> {
    prop_oneof![
        prop::collection::vec((-9..=9i8).prop_map(f32::from), count),
        prop::collection::vec(-1.0..1.0f32, count),
        prop::collection::vec((-1.0..1.0f32, -12..12i32).prop_map(|(x, e)| x * 2f32.powi(e)), count),
    ]
}

fn config() -> ProptestConfig {
    let cases =
        std::env::var("TWINFER_TRANSFORMED_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300);
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(12),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn winograd_stays_within_the_bound_for_any_algorithm(
        (channels, x, w) in (1..5usize).prop_flat_map(|c| (Just(c), elements(c * 36), elements(c * 9))),
    ) {
        for (algorithm, size) in [(f2(), 4), (f4(), 6)] {
            let x = &x[..channels * size * size];
            let bounds = reference(
                (&[1, channels, size, size], &doubles(x)),
                (&[1, channels, 3, 3], &doubles(&w)),
                Algorithms::Any,
            );
            let tile = algorithm.tile(&squares(x, size), &squares(&w, 3));
            prop_assert_eq!(bounds.values.len(), algorithm.outputs() * algorithm.outputs());
            for (place, given) in tile.concat().into_iter().enumerate() {
                prop_assert!(!is_wrong(&bounds, place, given), "{} of F({}, 3): {given} {bounds:?}", place, size - 2);
            }
        }
    }

    #[test]
    fn fourier_transforms_stay_within_the_bound_for_any_algorithm(
        (channels, kernel, x, w) in (1..4usize, 2..12usize)
            .prop_flat_map(|(c, k)| (Just(c), Just(k), elements(c * 32), elements(c * k))),
    ) {
        let bounds = reference(
            (&[1, channels, 32], &doubles(&x)),
            (&[1, channels, kernel], &doubles(&w)),
            Algorithms::Any,
        );
        let split = |values: &[f32], each| values.chunks(each).map(<[f32]>::to_vec).collect::<Vec<_>>();
        let given = by_fourier(&split(&x, 32), &split(&w, kernel));
        for (place, given) in given.into_iter().enumerate().take(bounds.values.len()) {
            prop_assert!(!is_wrong(&bounds, place, given), "{place}: {given} {bounds:?}");
        }
    }
}

#[test]
fn transforms_round_integers_that_direct_sums_hold_exactly() {
    let x: Vec<f32> = (0..36).map(|place| (place * 7 % 11) as f32 - 4.0).collect();
    let w: Vec<f32> = (0..9).map(|place| (place * 5 % 7) as f32 - 3.0).collect();
    let of = |algorithms| reference((&[1, 1, 6, 6], &doubles(&x)), (&[1, 1, 3, 3], &doubles(&w)), algorithms);
    let given = f4().tile(&squares(&x, 6), &squares(&w, 3)).concat();
    let wrong =
        |reference: &Reference| (0..16).filter(|&place| is_wrong(reference, place, given[place])).count();
    let (direct, any) = (of(Algorithms::Direct), of(Algorithms::Any));
    assert_eq!(of(Algorithms::DirectConvolutions), direct);
    assert!(direct.grid_step.is_some() && any.grid_step.is_none());
    assert!(wrong(&direct) > 0 && wrong(&any) == 0, "{given:?} {direct:?}");
    assert!(any.bound.iter().all(|bound| *bound < 0.5), "an integer that is off by one stays wrong: {any:?}");
}

#[test]
fn pointwise_kernels_are_exact_whatever_the_algorithms() {
    let reference = reference((&[1, 1, 1, 1], &[8.0]), (&[1, 1, 1, 1], &[4.0]), Algorithms::Any);
    assert_eq!(reference.compare(0, 32.0), Agreement::Exact);
    assert_eq!(reference.compare(0, 47.0), Agreement::Wrong(15.0));
}
