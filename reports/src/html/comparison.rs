//! The values that were expected and those that a backend gave, element by element.

use std::{cmp::Ordering, ops::Range};

use twinfer_onnx::{Tensor, TensorType, position};

/// The most elements of one tensor that are drawn.
pub const MAX_ELEMENTS: usize = 256;
/// The most columns of a grid.
const MAX_COLUMNS: usize = 16;

/// One output of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What it is, such as `output y of run 2`.
    pub name: String,
    /// The type that was expected; `None` if the outputs are not known.
    pub expected_type: Option<TensorType>,
    /// The type that the backend gave; `None` if it gave no such output.
    pub actual_type: Option<TensorType>,
    /// The elements that are drawn, and how many there are.
    pub shown: Range<usize>,
    pub elements: usize,
    /// Elements that differ; `None` if the two cannot be compared one by one.
    pub differing: Option<usize>,
    /// The elements in rows, in the order of the tensor.
    pub rows: Vec<Row>,
}

/// Elements that stand beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The index of the first, along every axis.
    pub index: Vec<usize>,
    /// The elements.
    pub cells: Vec<Cell>,
}

/// An element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub expected: Option<f64>,
    pub actual: Option<f64>,
    /// The absolute difference; infinite if only one of the two is a finite number. `None` if one of them is missing.
    pub difference: Option<f64>,
}

impl Comparison {
    /// Compares an output; `None` if there is neither an expected nor an actual one. At most `most` elements are drawn, from the row of the
    /// first that differs on.
    pub fn new(
        name: String,
        expected: Option<&Tensor>,
        actual: Option<&Tensor>,
        most: usize,
    ) -> Option<Self> {
        let shape = &expected.or(actual)?.shape;
        let same_shape = expected.zip(actual).is_some_and(|(one, other)| one.shape == other.shape);
        let elements = [expected, actual].into_iter().flatten().map(Tensor::len).max()?;
        let [left, right] = [expected, actual].map(|tensor| tensor.map(Tensor::to_f64).unwrap_or_default());
        let cell = |place: usize| {
            let (expected, actual) = (left.get(place).copied(), right.get(place).copied());
            let pair = expected.zip(actual).filter(|_| same_shape);
            Cell { expected, actual, difference: pair.map(|(one, other)| difference(one, other)) }
        };
        let differs = |place: &usize| cell(*place).difference.is_some_and(|size| size > 0.0);
        let columns = columns(shape);
        let first = (0..elements).find(differs).map_or(0, |place| place - place % columns);
        // a short rest is drawn with what is in front of it
        let most = most.min(MAX_ELEMENTS);
        let start = first.min(elements.saturating_sub(most)).next_multiple_of(columns);
        let shown = start..elements.min(start + most);
        let row = |from: usize| Row {
            index: position(shape, from),
            cells: (from..shown.end.min(from + columns)).map(cell).collect(),
        };
        Some(Self {
            name,
            expected_type: expected.map(type_of),
            actual_type: actual.map(type_of),
            elements,
            differing: same_shape.then(|| (0..elements).filter(differs).count()),
            rows: shown.clone().step_by(columns).map(row).collect(),
            shown,
        })
    }

    /// Whether anything differs, type and shape included.
    pub fn differs(&self) -> bool {
        self.expected_type != self.actual_type || self.differing != Some(0)
    }

    /// The largest finite difference among the elements that are drawn; 0 if there is none.
    pub fn largest(&self) -> f64 {
        let differences = self.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.difference);
        differences.filter(|size| size.is_finite()).fold(0.0, f64::max)
    }
}

fn type_of(tensor: &Tensor) -> TensorType {
    TensorType { dtype: tensor.dtype(), shape: tensor.shape.clone() }
}

/// How many elements stand beside each other: those of the last axis, or a part of them.
fn columns(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1).clamp(1, MAX_COLUMNS)
}

/// The size of a difference; equal infinities and two that are no number do not differ.
fn difference(one: f64, other: f64) -> f64 {
    if one.partial_cmp(&other) == Some(Ordering::Equal) || one.is_nan() && other.is_nan() {
        0.0
    } else {
        let size = (one - other).abs();
        if size.is_nan() { f64::INFINITY } else { size }
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::TensorData;

    use super::*;

    fn tensor(shape: &[usize], elements: &[f32]) -> Tensor {
        Tensor::new(shape.to_vec(), TensorData::Float(elements.to_vec())).unwrap()
    }

    fn compared(one: &Tensor, other: &Tensor, most: usize) -> Comparison {
        Comparison::new("y".to_owned(), Some(one), Some(other), most).unwrap()
    }

    #[test]
    fn elements_stand_in_rows_of_the_last_axis() {
        let (one, other) = (tensor(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), tensor(&[2, 2], &[1.0, 2.0, 3.5, 4.0]));
        let comparison = compared(&one, &other, 256);
        assert_eq!(comparison.rows.iter().map(|row| row.index.clone()).collect::<Vec<_>>(), [[0, 0], [1, 0]]);
        assert_eq!((comparison.differing, comparison.largest()), (Some(1), 0.5));
        assert!(comparison.differs());
    }

    #[test]
    fn drawing_begins_where_values_differ_and_is_bounded() {
        let one = tensor(&[1000], &[0.0; 1000]);
        let mut values = [0.0; 1000];
        values[990] = 1.0;
        let comparison = compared(&one, &tensor(&[1000], &values), usize::MAX);
        assert_eq!(comparison.shown, 752..1000);
        assert!(comparison.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.difference == Some(1.0)));
        assert_eq!((comparison.elements, comparison.differing), (1000, Some(1)));
        assert_eq!(compared(&one, &one, 10).shown, 0..10);
        assert!(!compared(&one, &one, 10).differs());
    }

    #[test]
    fn special_values_differ_only_from_others() {
        let (one, other) = (
            tensor(&[3], &[f32::NAN, f32::INFINITY, 1.0]),
            tensor(&[3], &[f32::NAN, f32::INFINITY, f32::NAN]),
        );
        let comparison = compared(&one, &other, 256);
        let differences: Vec<_> = comparison.rows[0].cells.iter().map(|cell| cell.difference).collect();
        assert_eq!(differences, [Some(0.0), Some(0.0), Some(f64::INFINITY)]);
        assert!(comparison.largest() <= 0.0);
    }

    #[test]
    fn other_shapes_are_not_compared_one_by_one() {
        let comparison = compared(&tensor(&[1, 2], &[1.0, 2.0]), &tensor(&[3], &[1.0, 2.0, 3.0]), 256);
        assert_eq!((comparison.differing, comparison.elements), (None, 3));
        assert!(comparison.differs());
        assert_eq!(Comparison::new("y".to_owned(), None, None, 256), None);
        let empty = compared(&tensor(&[0, 2], &[]), &tensor(&[0, 2], &[]), 256);
        assert!(empty.rows.is_empty() && !empty.differs());
    }
}
