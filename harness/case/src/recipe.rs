use std::borrow::Cow;

use rand_pcg::{Pcg64Mcg, rand_core::Rng};
use twinfer_onnx::{DataType, Tensor, element_count};

use crate::{Recipe, Regime, Run, TensorSource};

/// The maximum number of elements that the recipes of a case may make, all runs together; generated tensors have a few
/// hundred.
pub const MAX_CASE_ELEMENTS: usize = 1 << 26;

/// Spreads neighboring seeds: any odd 128-bit number without a pattern works.
const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

/// The error of a case whose recipes, up to this one, make more than [`MAX_CASE_ELEMENTS`] elements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a recipe of shape {shape:?} takes the case beyond {MAX_CASE_ELEMENTS} elements")]
pub struct OversizedRecipe {
    shape: Vec<usize>,
}

/// The tensors of each run; an error, before anything is allocated, if they have more than [`MAX_CASE_ELEMENTS`] elements.
pub fn materialize(runs: &[Run]) -> Result<Vec<Vec<Tensor>>, OversizedRecipe> {
    check_size(runs)?;
    let tensors = |run: &Run| run.inputs.iter().map(|source| Ok(source.tensor()?.into_owned())).collect();
    runs.iter().map(tensors).collect()
}

/// Checks that the recipes of all runs stay within [`MAX_CASE_ELEMENTS`].
pub fn check_size(runs: &[Run]) -> Result<(), OversizedRecipe> {
    let mut left = MAX_CASE_ELEMENTS;
    for recipe in runs.iter().flat_map(|run| &run.inputs).filter_map(TensorSource::recipe) {
        let rest = element_count(&recipe.shape).and_then(|count| left.checked_sub(count));
        left = rest.ok_or_else(|| recipe.oversized())?;
    }
    Ok(())
}

impl TensorSource {
    /// The tensor, as stored or as the recipe makes it.
    pub fn tensor(&self) -> Result<Cow<'_, Tensor>, OversizedRecipe> {
        match self {
            Self::Data(tensor) => Ok(Cow::Borrowed(tensor)),
            Self::Recipe(recipe) => recipe.materialize().map(Cow::Owned),
        }
    }

    const fn recipe(&self) -> Option<&Recipe> {
        match self {
            Self::Data(_) => None,
            Self::Recipe(recipe) => Some(recipe),
        }
    }

    /// The element type, without making the elements.
    pub const fn dtype(&self) -> DataType {
        match self {
            Self::Data(tensor) => tensor.dtype(),
            Self::Recipe(recipe) => recipe.dtype,
        }
    }

    /// The extents, without making the elements.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Data(tensor) => &tensor.shape,
            Self::Recipe(recipe) => &recipe.shape,
        }
    }
}

impl Recipe {
    /// The tensor that the recipe describes, with the same bits on every machine and in every version of twinfer.
    ///
    /// Values are made by integer and basic IEEE 754 operations alone, which are exact or correctly rounded
    /// everywhere, and then rounded to the element type.
    pub fn materialize(&self) -> Result<Tensor, OversizedRecipe> {
        let count = element_count(&self.shape).filter(|count| *count <= MAX_CASE_ELEMENTS);
        let count = count.ok_or_else(|| self.oversized())?;
        let mut bits = Pcg64Mcg::new(u128::from(self.seed).wrapping_mul(SPREAD));
        let values: Vec<f64> = (0..count).map(|_| self.regime.draw(self.dtype, &mut bits)).collect();
        Tensor::from_f64(self.dtype, self.shape.clone(), &values).map_err(|_| self.oversized())
    }

    fn oversized(&self) -> OversizedRecipe {
        OversizedRecipe { shape: self.shape.clone() }
    }
}

impl Regime {
    /// The next value, before it is rounded to `dtype`.
    fn draw(self, dtype: DataType, bits: &mut impl Rng) -> f64 {
        let range = Range::of(dtype);
        match self {
            Self::Exact { limit, exponent } => {
                let steps = below(2 * u64::from(limit) + 1, bits) as f64 - f64::from(limit);
                steps * power_of_two(exponent)
            }
            Self::Integers { least, greatest } => {
                let more = u64::try_from(i64::from(greatest) - i64::from(least)).unwrap_or(0);
                f64::from(least) + below(more + 1, bits) as f64
            }
            Self::Gaussian => standard_normal(bits),
            Self::WideRange => log_uniform(range.wide, bits),
            Self::Denormal => log_uniform((range.smallest_normal - 6, range.smallest_normal + 12), bits),
            Self::Special => match below(64, bits) {
                special @ 0..8 => range.special(special),
                _ => standard_normal(bits),
            },
            Self::Saturating => {
                log_uniform((range.largest - 4, range.largest), bits).clamp(-range.max, range.max)
            }
        }
    }
}

/// The magnitudes of an element type, as binary exponents except for `max`.
struct Range {
    /// Many decades, with sums of products of two such values still finite.
    wide: (i32, i32),
    smallest_normal: i32,
    /// All finite values are below 2 to this power.
    largest: i32,
    /// The largest finite value.
    max: f64,
}

impl Range {
    /// The special value of this number, below 8.
    fn special(&self, number: u64) -> f64 {
        match number {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            4 => 0.0,
            5 => self.max,
            6 => -self.max,
            _ => power_of_two(self.smallest_normal - 3),
        }
    }

    const fn of(dtype: DataType) -> Self {
        match dtype {
            DataType::Float16 => Self { wide: (-10, 4), smallest_normal: -14, largest: 16, max: 65504.0 },
            DataType::Bfloat16 => {
                Self { wide: (-30, 24), smallest_normal: -126, largest: 128, max: 3.389_531_389_251_535_5e38 }
            }
            DataType::Float => {
                Self { wide: (-30, 24), smallest_normal: -126, largest: 128, max: f32::MAX as f64 }
            }
            DataType::Double => {
                Self { wide: (-30, 24), smallest_normal: -1022, largest: 1024, max: f64::MAX }
            }
            _ => Self { wide: (0, 7), smallest_normal: 0, largest: 8, max: 127.0 },
        }
    }
}

/// Uniform below `bound`, by multiplication: the bias is under 2^-31 for the bounds a regime has.
fn below(bound: u64, bits: &mut impl Rng) -> u64 {
    ((u128::from(bits.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// Mean 0 and variance 1: the sum of twelve uniform values, less six. Its tails end at ±6.
fn standard_normal(bits: &mut impl Rng) -> f64 {
    let sum: u64 = (0..6).map(|_| bits.next_u64()).map(|word| (word >> 32) + (word & 0xffff_ffff)).sum();
    sum as f64 / power_of_two(32) - 6.0
}

/// Of random sign, with the binary exponent uniform over `low..high` and a uniform significand.
fn log_uniform((low, high): (i32, i32), bits: &mut impl Rng) -> f64 {
    let word = bits.next_u64();
    let sign = if word & 1 == 0 { 1.0 } else { -1.0 };
    let significand = 1.0 + (word >> 12) as f64 / power_of_two(52);
    let exponent = low + below(high.abs_diff(low).into(), bits) as i32;
    sign * significand * power_of_two(exponent)
}

/// Exact if the result is a double, subnormal ones included; zero or infinite otherwise.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (exponent + 1074)),
        -1022..1024 => f64::from_bits(((exponent + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(dtype: DataType, regime: Regime) -> Vec<f64> {
        let recipe = Recipe { dtype, shape: vec![10, 1000], regime, seed: 7 };
        recipe.materialize().expect("is small").to_f64()
    }

    #[test]
    fn the_bits_of_a_recipe_never_change() {
        let exact = Recipe {
            dtype: DataType::Float,
            shape: vec![8],
            regime: Regime::Exact { limit: 5, exponent: -1 },
            seed: 42,
        };
        let gaussian = Recipe { regime: Regime::Gaussian, shape: vec![4], ..exact.clone() };
        let wide =
            Recipe { regime: Regime::WideRange, dtype: DataType::Float16, shape: vec![4], ..exact.clone() };
        let made: Vec<_> = [exact, gaussian, wide]
            .iter()
            .map(|recipe| recipe.materialize().expect("is small").to_f64())
            .collect();
        let pinned = [
            vec![0.5, -0.5, -0.5, 1.5, 2.0, 1.5, -2.0, 1.0],
            vec![
                0.715_763_449_668_884_3,
                -0.514_980_077_743_530_3,
                0.911_507_606_506_347_7,
                0.440_778_374_671_936_04,
            ],
            vec![0.101_379_394_531_25, 1.367_187_5, -1.869_140_625, -0.583_007_812_5],
        ];
        assert_eq!(made, pinned);
    }

    #[test]
    fn exact_values_are_all_grid_points_within_the_limit() {
        let mut steps: Vec<_> = values(DataType::Float16, Regime::Exact { limit: 3, exponent: -2 });
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        assert_eq!(steps, [-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75]);
    }

    #[test]
    fn integers_are_all_of_their_range_and_no_others() {
        let mut integers = values(DataType::Uint8, Regime::Integers { least: 250, greatest: 255 });
        integers.sort_by(f64::total_cmp);
        integers.dedup();
        assert_eq!(integers, [250.0, 251.0, 252.0, 253.0, 254.0, 255.0]);
        assert_eq!(values(DataType::Int8, Regime::Integers { least: 3, greatest: -3 })[..2], [3.0, 3.0]);
    }

    #[test]
    fn gaussian_values_have_mean_zero_and_variance_one() {
        let values = values(DataType::Double, Regime::Gaussian);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "mean {mean}, variance {variance}");
    }

    #[test]
    fn each_rounding_regime_reaches_the_magnitudes_it_is_named_for() {
        for (dtype, smallest_normal, largest) in [
            (DataType::Float, f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
            (DataType::Float16, 6.103_515_625e-5, 65504.0),
        ] {
            let denormal = values(dtype, Regime::Denormal);
            assert!(denormal.iter().any(|x| x.abs() < smallest_normal && *x != 0.0));
            assert!(denormal.iter().any(|x| x.abs() >= smallest_normal));
            let saturating = values(dtype, Regime::Saturating);
            assert!(saturating.iter().all(|x| x.abs() > largest / 16.0));
            let wide: Vec<f64> = values(dtype, Regime::WideRange).into_iter().map(f64::abs).collect();
            let (least, most) = wide.iter().fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
            assert!(most / least > 1e4 && most.is_finite());
        }
    }

    #[test]
    fn a_recipe_from_outside_cannot_ask_for_endless_memory() {
        let recipe =
            Recipe { dtype: DataType::Float, shape: vec![1 << 40, 3], regime: Regime::Gaussian, seed: 0 };
        assert!(recipe.materialize().is_err());
        let recipe = Recipe { shape: vec![usize::MAX, usize::MAX], ..recipe };
        assert!(recipe.materialize().is_err());
    }
}
