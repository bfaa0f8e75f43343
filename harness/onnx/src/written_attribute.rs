use crate::{
    Op, attributes,
    display::text_of_attribute_value,
    proto::{AttributeProto, attribute_type},
};

/// An attribute that is present in a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAttribute {
    /// ONNX's name for the attribute.
    pub name: String,
    /// Its value as text, such as `[2,1]`; for a tensor its type.
    pub value: String,
    /// Whether the node would mean the same without the attribute.
    pub is_default: bool,
}

impl Op {
    /// The attributes that are present, in alphabetical order.
    ///
    /// ```
    /// use twinfer_onnx::{Conv, Op};
    ///
    /// let op = Op::Conv(Conv { group: Some(1), strides: Some(vec![2, 1]), ..Conv::default() });
    /// let [group, strides] = &op.written_attributes()[..] else { panic!("two attributes") };
    /// assert_eq!((group.name.as_str(), group.is_default), ("group", true));
    /// assert_eq!((strides.value.as_str(), strides.is_default), ("[2,1]", false));
    /// ```
    pub fn written_attributes(&self) -> Vec<WrittenAttribute> {
        let of = |attribute| WrittenAttribute::of(self, attribute);
        attributes::write(self).iter().map(of).collect()
    }
}

impl WrittenAttribute {
    fn of(op: &Op, attribute: &AttributeProto) -> Self {
        Self {
            name: attribute.name.clone(),
            value: text_of_attribute_value(attribute),
            is_default: is_default(op, attribute),
        }
    }
}

/// Whether an attribute of `op` says what holds without it. The defaults of the operators agree wherever they share an attribute's name,
/// except for Concat's axis, which has none.
fn is_default(op: &Op, attribute: &AttributeProto) -> bool {
    let all = |entry: i64| {
        attribute.r#type == attribute_type::INTS && attribute.ints.iter().all(|one| *one == entry)
    };
    match attribute.name.as_str() {
        "alpha" => attribute.f == Some(0.01),
        "auto_pad" => attribute.s.as_deref() == Some(b"NOTSET"),
        "axis" => matches!(op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_)) && attribute.i == Some(1),
        "ceil_mode" | "count_include_pad" | "storage_order" | "training_mode" => attribute.i == Some(0),
        "dilations" | "strides" => all(1),
        "epsilon" => attribute.f == Some(1e-5),
        "group" => attribute.i == Some(1),
        "momentum" => attribute.f == Some(0.9),
        "output_padding" | "pads" => all(0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AveragePool, Concat, DequantizeLinear, LeakyRelu};

    #[test]
    fn defaults_are_those_of_the_operator() {
        let pool = AveragePool { count_include_pad: Some(0), ..AveragePool::default() };
        let with_default = [
            Op::DequantizeLinear(DequantizeLinear { axis: Some(1) }),
            Op::LeakyRelu(LeakyRelu { alpha: Some(0.01) }),
            Op::AveragePool(pool),
        ];
        for op in &with_default {
            let written = op.written_attributes();
            let written = written.iter().filter(|attribute| attribute.name != "kernel_shape");
            assert!(
                written.clone().count() == 1 && written.clone().all(|attribute| attribute.is_default),
                "{op:?}"
            );
        }
        let without = [
            Op::Concat(Concat { axis: 1 }),
            Op::DequantizeLinear(DequantizeLinear { axis: Some(0) }),
            Op::LeakyRelu(LeakyRelu { alpha: Some(0.02) }),
        ];
        assert!(without.iter().all(|op| !op.written_attributes()[0].is_default));
    }
}
