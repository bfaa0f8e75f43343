use crate::{
    DataType, TensorType,
    geometry::Reading,
    rule::{Broken, Rule, require},
};

/// The types of a node's inputs, and the operator set that says what is allowed.
pub struct Inputs<'a> {
    opset: i64,
    given: &'a [Option<&'a TensorType>],
    reading: Reading,
}

impl<'a> Inputs<'a> {
    pub const fn new(opset: i64, given: &'a [Option<&'a TensorType>], reading: Reading) -> Self {
        Self { opset, given, reading }
    }

    /// Whether attributes are those that are stated.
    pub const fn reading(&self) -> Reading {
        self.reading
    }

    pub const fn opset(&self) -> i64 {
        self.opset
    }

    /// The inputs of an operator that takes `REQUIRED` of them and up to `OPTIONAL` more.
    pub fn take<const REQUIRED: usize, const OPTIONAL: usize>(
        &self,
    ) -> Result<([&'a TensorType; REQUIRED], [Option<&'a TensorType>; OPTIONAL]), Broken> {
        let count = self.given.len();
        require((REQUIRED..=REQUIRED + OPTIONAL).contains(&count), Rule::InputCount, || {
            format!("{count} inputs, wanted {REQUIRED} to {}", REQUIRED + OPTIONAL)
        })?;
        let (required, optional) = self.given.split_at(REQUIRED);
        let required = present(required)?;
        let required = std::array::from_fn(|place| required[place]);
        Ok((required, std::array::from_fn(|place| optional.get(place).copied().flatten())))
    }

    /// The inputs of an operator that takes one or more.
    pub fn take_all(&self) -> Result<Vec<&'a TensorType>, Broken> {
        require(!self.given.is_empty(), Rule::InputCount, || "no inputs".to_owned())?;
        present(self.given)
    }

    /// Demands an element type of `allowed`, or bfloat16 from operator set `bfloat16_since` on.
    pub fn element_type(
        &self,
        name: &str,
        dtype: DataType,
        allowed: &[DataType],
        bfloat16_since: i64,
    ) -> Result<(), Broken> {
        let bfloat16 = dtype == DataType::Bfloat16 && self.opset >= bfloat16_since;
        require(bfloat16 || allowed.contains(&dtype), Rule::ElementType, || {
            format!("{name} is {dtype} in operator set {}", self.opset)
        })
    }
}

fn present<'a>(inputs: &[Option<&'a TensorType>]) -> Result<Vec<&'a TensorType>, Broken> {
    inputs
        .iter()
        .copied()
        .collect::<Option<_>>()
        .ok_or_else(|| Broken { rule: Rule::InputCount, detail: "a required input is left out".to_owned() })
}

/// Demands that two inputs have one element type.
pub fn same_element_type(names: &str, first: &TensorType, second: &TensorType) -> Result<(), Broken> {
    require(first.dtype == second.dtype, Rule::SameElementType, || {
        format!("{names} are {} and {}", first.dtype, second.dtype)
    })
}

/// The floating-point types that every operator version takes.
pub const FLOATS: &[DataType] = &[DataType::Float, DataType::Float16, DataType::Double];
