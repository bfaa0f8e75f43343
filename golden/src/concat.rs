use crate::{grid::Grid, value::Value};

/// Concatenates the parts along `axis` to a tensor of `shape`.
pub fn concat(parts: &[&Value], axis: usize, shape: Vec<usize>) -> Value {
    let outer: usize = shape[..axis].iter().product();
    let filled: Vec<&Value> = parts.iter().copied().filter(|part| !part.elements.is_empty()).collect();
    let gather = |element: &dyn Fn(&Value, usize) -> f64| -> Vec<f64> {
        let mut gathered = Vec::with_capacity(shape.iter().product());
        for index in 0..outer {
            for part in &filled {
                let run: usize = part.shape[axis..].iter().product();
                gathered.extend((index * run..(index + 1) * run).map(|place| element(part, place)));
            }
        }
        gathered
    };
    Value {
        dtype: parts[0].dtype,
        format: parts[0].format,
        elements: gather(&|part, place| part.elements[place]),
        magnitude: Some(gather(&Value::magnitude_at)),
        error: parts.iter().any(|part| part.error.is_some()).then(|| gather(&Value::error_at)),
        grid: parts.iter().try_fold(Grid::ZERO, |grid, part| Some(grid.and(part.grid?))),
        quantization_step: parts[0].quantization_step.filter(|step| {
            parts.iter().all(|part| part.quantization_step.is_some_and(|other| other.total_cmp(step).is_eq()))
        }),
        has_signed_zeros: parts.iter().all(|part| part.has_signed_zeros),
        shape,
    }
}

/// The first `extent` indices along `axis`, where there are more: an edit may join more than a node does.
pub fn first_of_axis(value: Value, axis: usize, extent: usize) -> Value {
    let all = value.shape[axis];
    if all <= extent {
        return value;
    }
    let inner: usize = value.shape[axis + 1..].iter().product();
    let is_kept = |place: &usize| place / inner % all < extent;
    let places: Vec<_> = (0..value.elements.len()).filter(is_kept).map(Some).collect();
    let shape: Vec<_> = value
        .shape
        .iter()
        .enumerate()
        .map(|(place, own)| if place == axis { extent } else { *own })
        .collect();
    value.gathered(&shape, &places)
}
