//! The attributes of each operator as ONNX writes them.

use crate::{
    AttributeFault, AutoPad, AveragePool, BatchNormalization, Concat, Conv, ConvTranspose, DecodeError,
    DequantizeLinear, LeakyRelu, MaxPool, Op, QuantizeLinear, Tensor, Transpose, Unsupported,
    proto::{AttributeProto, attribute_type},
    tensor_proto::encoded,
};

/// Attributes that ONNX defines for the operators in some of the operator sets that are read, and that the graph types cannot hold.
/// Source: onnx/docs/Operators.md and onnx/docs/Changelog.md.
const UNREPRESENTED: [(&str, &str); 9] = [
    ("BatchNormalization", "spatial"),
    ("Clip", "max"),
    ("Clip", "min"),
    ("DequantizeLinear", "block_size"),
    ("DequantizeLinear", "output_dtype"),
    ("QuantizeLinear", "block_size"),
    ("QuantizeLinear", "output_dtype"),
    ("QuantizeLinear", "precision"),
    ("QuantizeLinear", "saturate"),
];

/// The attributes that are present, in alphabetical order.
pub fn write(op: &Op) -> Vec<AttributeProto> {
    let attributes = match op {
        Op::Add
        | Op::Clip
        | Op::GlobalAveragePool
        | Op::HardSwish
        | Op::Identity
        | Op::Mul
        | Op::Relu
        | Op::Sigmoid => Vec::new(),
        Op::AveragePool(op) => vec![
            auto_pad(op.auto_pad),
            int("ceil_mode", op.ceil_mode),
            int("count_include_pad", op.count_include_pad),
            ints("dilations", op.dilations.as_ref()),
            ints("kernel_shape", Some(&op.kernel_shape)),
            ints("pads", op.pads.as_ref()),
            ints("strides", op.strides.as_ref()),
        ],
        Op::BatchNormalization(op) => vec![
            float("epsilon", op.epsilon),
            float("momentum", op.momentum),
            int("training_mode", op.training_mode),
        ],
        Op::Concat(op) => vec![int("axis", Some(op.axis))],
        Op::Constant(value) => vec![Some(tensor("value", value))],
        Op::Conv(op) | Op::ConvInteger(op) | Op::QLinearConv(op) => vec![
            auto_pad(op.auto_pad),
            ints("dilations", op.dilations.as_ref()),
            int("group", op.group),
            ints("kernel_shape", op.kernel_shape.as_ref()),
            ints("pads", op.pads.as_ref()),
            ints("strides", op.strides.as_ref()),
        ],
        Op::ConvTranspose(op) => vec![
            auto_pad(op.auto_pad),
            ints("dilations", op.dilations.as_ref()),
            int("group", op.group),
            ints("kernel_shape", op.kernel_shape.as_ref()),
            ints("output_padding", op.output_padding.as_ref()),
            ints("output_shape", op.output_shape.as_ref()),
            ints("pads", op.pads.as_ref()),
            ints("strides", op.strides.as_ref()),
        ],
        Op::DequantizeLinear(op) => vec![int("axis", op.axis)],
        Op::LeakyRelu(op) => vec![float("alpha", op.alpha)],
        Op::MaxPool(op) => vec![
            auto_pad(op.auto_pad),
            int("ceil_mode", op.ceil_mode),
            ints("dilations", op.dilations.as_ref()),
            ints("kernel_shape", Some(&op.kernel_shape)),
            ints("pads", op.pads.as_ref()),
            int("storage_order", op.storage_order),
            ints("strides", op.strides.as_ref()),
        ],
        Op::QuantizeLinear(op) => vec![int("axis", op.axis)],
        Op::Transpose(op) => vec![ints("perm", op.perm.as_ref())],
    };
    attributes.into_iter().flatten().collect()
}

/// The operator that `op_type` and its attributes say; every attribute must be known.
pub fn read(node: &str, op_type: &str, attributes: Vec<AttributeProto>) -> Result<Op, DecodeError> {
    let mut given = Given { node, op_type, attributes };
    let op = match op_type {
        "Add" => Op::Add,
        "AveragePool" => Op::AveragePool(AveragePool {
            auto_pad: given.auto_pad()?,
            ceil_mode: given.int("ceil_mode")?,
            count_include_pad: given.int("count_include_pad")?,
            dilations: given.ints("dilations")?,
            kernel_shape: given.required("kernel_shape", Given::ints)?,
            pads: given.ints("pads")?,
            strides: given.ints("strides")?,
        }),
        "BatchNormalization" => Op::BatchNormalization(BatchNormalization {
            epsilon: given.float("epsilon")?,
            momentum: given.float("momentum")?,
            training_mode: given.int("training_mode")?,
        }),
        "Clip" => Op::Clip,
        "Concat" => Op::Concat(Concat { axis: given.required("axis", Given::int)? }),
        "Conv" => Op::Conv(given.conv()?),
        "ConvInteger" => Op::ConvInteger(given.conv()?),
        "ConvTranspose" => Op::ConvTranspose(ConvTranspose {
            auto_pad: given.auto_pad()?,
            dilations: given.ints("dilations")?,
            group: given.int("group")?,
            kernel_shape: given.ints("kernel_shape")?,
            output_padding: given.ints("output_padding")?,
            output_shape: given.ints("output_shape")?,
            pads: given.ints("pads")?,
            strides: given.ints("strides")?,
        }),
        "DequantizeLinear" => Op::DequantizeLinear(DequantizeLinear { axis: given.int("axis")? }),
        "GlobalAveragePool" => Op::GlobalAveragePool,
        "HardSwish" => Op::HardSwish,
        "Identity" => Op::Identity,
        "LeakyRelu" => Op::LeakyRelu(LeakyRelu { alpha: given.float("alpha")? }),
        "MaxPool" => Op::MaxPool(MaxPool {
            auto_pad: given.auto_pad()?,
            ceil_mode: given.int("ceil_mode")?,
            dilations: given.ints("dilations")?,
            kernel_shape: given.required("kernel_shape", Given::ints)?,
            pads: given.ints("pads")?,
            storage_order: given.int("storage_order")?,
            strides: given.ints("strides")?,
        }),
        "Mul" => Op::Mul,
        "QLinearConv" => Op::QLinearConv(given.conv()?),
        "QuantizeLinear" => Op::QuantizeLinear(QuantizeLinear { axis: given.int("axis")? }),
        "Relu" => Op::Relu,
        "Sigmoid" => Op::Sigmoid,
        "Transpose" => Op::Transpose(Transpose { perm: given.ints("perm")? }),
        _ => return Err(Unsupported::Operator { op_type: op_type.to_owned() }.into()),
    };
    given.none_left()?;
    Ok(op)
}

fn float(name: &str, value: Option<f32>) -> Option<AttributeProto> {
    value.map(|value| AttributeProto { f: Some(value), ..named(name, attribute_type::FLOAT) })
}

fn int(name: &str, value: Option<i64>) -> Option<AttributeProto> {
    value.map(|value| AttributeProto { i: Some(value), ..named(name, attribute_type::INT) })
}

fn tensor(name: &str, value: &Tensor) -> AttributeProto {
    AttributeProto { t: Some(Box::new(encoded("", value))), ..named(name, attribute_type::TENSOR) }
}

fn ints(name: &str, value: Option<&Vec<i64>>) -> Option<AttributeProto> {
    value.map(|value| AttributeProto { ints: value.clone(), ..named(name, attribute_type::INTS) })
}

fn auto_pad(value: Option<AutoPad>) -> Option<AttributeProto> {
    value.map(|value| AttributeProto {
        s: Some(value.as_str().as_bytes().to_vec()),
        ..named("auto_pad", attribute_type::STRING)
    })
}

fn named(name: &str, r#type: i32) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type, ..AttributeProto::default() }
}

/// The attributes of a node that have not been read yet.
struct Given<'a> {
    node: &'a str,
    op_type: &'a str,
    attributes: Vec<AttributeProto>,
}

impl Given<'_> {
    fn conv(&mut self) -> Result<Conv, DecodeError> {
        Ok(Conv {
            auto_pad: self.auto_pad()?,
            dilations: self.ints("dilations")?,
            group: self.int("group")?,
            kernel_shape: self.ints("kernel_shape")?,
            pads: self.ints("pads")?,
            strides: self.ints("strides")?,
        })
    }

    fn take(&mut self, name: &str, r#type: i32) -> Result<Option<AttributeProto>, DecodeError> {
        let Some(place) = self.attributes.iter().position(|attribute| attribute.name == name) else {
            return Ok(None);
        };
        let attribute = self.attributes.swap_remove(place);
        if attribute.r#type == r#type {
            Ok(Some(attribute))
        } else {
            Err(self.invalid(AttributeFault::WrongType(name.to_owned())))
        }
    }

    fn float(&mut self, name: &str) -> Result<Option<f32>, DecodeError> {
        Ok(self.take(name, attribute_type::FLOAT)?.map(|attribute| attribute.f.unwrap_or_default()))
    }

    fn int(&mut self, name: &str) -> Result<Option<i64>, DecodeError> {
        Ok(self.take(name, attribute_type::INT)?.map(|attribute| attribute.i.unwrap_or_default()))
    }

    fn ints(&mut self, name: &str) -> Result<Option<Vec<i64>>, DecodeError> {
        Ok(self.take(name, attribute_type::INTS)?.map(|attribute| attribute.ints))
    }

    fn auto_pad(&mut self) -> Result<Option<AutoPad>, DecodeError> {
        let Some(attribute) = self.take("auto_pad", attribute_type::STRING)? else {
            return Ok(None);
        };
        let text = attribute.s.unwrap_or_default();
        match AutoPad::ALL.into_iter().find(|auto_pad| auto_pad.as_str().as_bytes() == text) {
            Some(auto_pad) => Ok(Some(auto_pad)),
            None => Err(self.invalid(AttributeFault::UndefinedValue {
                attribute: "auto_pad".to_owned(),
                value: String::from_utf8_lossy(&text).into_owned(),
            })),
        }
    }

    fn required<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&mut Self, &str) -> Result<Option<T>, DecodeError>,
    ) -> Result<T, DecodeError> {
        read(self, name)?
            .ok_or_else(|| DecodeError::MissingAttribute { node: self.node.to_owned(), attribute: name })
    }

    fn none_left(&self) -> Result<(), DecodeError> {
        let is_defined =
            |attribute: &AttributeProto| UNREPRESENTED.contains(&(self.op_type, attribute.name.as_str()));
        if let Some(undefined) = self.attributes.iter().find(|attribute| !is_defined(attribute)) {
            return Err(self.invalid(AttributeFault::Undefined(undefined.name.clone())));
        }
        match self.attributes.first() {
            None => Ok(()),
            Some(attribute) => Err(self.unsupported(&attribute.name)),
        }
    }

    fn invalid(&self, fault: AttributeFault) -> DecodeError {
        let (node, op_type) = (self.node.to_owned(), self.op_type.to_owned());
        DecodeError::InvalidAttribute { node, op_type, fault }
    }

    fn unsupported(&self, attribute: &str) -> DecodeError {
        Unsupported::Attribute {
            node: self.node.to_owned(),
            op_type: self.op_type.to_owned(),
            attribute: attribute.to_owned(),
        }
        .into()
    }
}
