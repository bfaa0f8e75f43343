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
        attributes::write(self).iter().map(WrittenAttribute::of).collect()
    }
}

impl WrittenAttribute {
    fn of(attribute: &AttributeProto) -> Self {
        Self {
            name: attribute.name.clone(),
            value: text_of_attribute_value(attribute),
            is_default: is_default(attribute),
        }
    }
}

/// Whether an attribute says what holds without it. The defaults of the operators agree wherever they share an attribute's name, except
/// for Concat's axis, which has none.
fn is_default(attribute: &AttributeProto) -> bool {
    let all = |entry: i64| {
        attribute.r#type == attribute_type::INTS && attribute.ints.iter().all(|one| *one == entry)
    };
    match attribute.name.as_str() {
        "auto_pad" => attribute.s.as_deref() == Some(b"NOTSET"),
        "ceil_mode" | "storage_order" | "training_mode" => attribute.i == Some(0),
        "dilations" | "strides" => all(1),
        "epsilon" => attribute.f == Some(1e-5),
        "group" => attribute.i == Some(1),
        "momentum" => attribute.f == Some(0.9),
        "output_padding" | "pads" => all(0),
        _ => false,
    }
}
