use twinfer_onnx::{AutoPad, Op};

use crate::taps::Reach;

/// Numbers of which a window has one for each spatial axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbers {
    Strides,
    Dilations,
    PadsBegin,
    PadsEnd,
    OutputPadding,
    Kernel,
}

/// What is done to the numbers of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberChange {
    /// 1 for strides and dilations, 0 for the others.
    Default,
    First,
    Last,
    Reversed,
    Largest,
    Smallest,
    OneMore,
    OneLess,
    /// Also where that is negative.
    OneLessOrNegative,
    Doubled,
    AtMost(i64),
    /// The other numbers of the same axis.
    Of(Numbers),
    /// The other numbers of the same axis, and these for those.
    ExchangedWith(Numbers),
}

/// The spatial axes whose numbers change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    All,
    First,
    Last,
}

/// Whether the output gets the shape that follows from the changed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shapes {
    Kept,
    Following,
}

/// A change to the numbers of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberEdit {
    pub numbers: Numbers,
    pub change: NumberChange,
    pub scope: Scope,
    pub shapes: Shapes,
}

/// The largest number that a change gives.
const MOST: i64 = 1 << 24;

impl Numbers {
    const fn default(self) -> i64 {
        match self {
            Self::Strides | Self::Dilations | Self::Kernel => 1,
            Self::PadsBegin | Self::PadsEnd | Self::OutputPadding => 0,
        }
    }

    /// The name in names of edits.
    const fn slug(self) -> &'static str {
        match self {
            Self::Strides => "strides",
            Self::Dilations => "dilations",
            Self::PadsBegin => "pads-begin",
            Self::PadsEnd => "pads-end",
            Self::OutputPadding => "output-padding",
            Self::Kernel => "kernel-shape",
        }
    }

    /// What sentences call them.
    const fn noun(self) -> &'static str {
        match self {
            Self::Strides => "`strides`",
            Self::Dilations => "`dilations`",
            Self::PadsBegin => "the `pads` at the start",
            Self::PadsEnd => "the `pads` at the end",
            Self::OutputPadding => "`output_padding`",
            Self::Kernel => "`kernel_shape`",
        }
    }
}

impl NumberEdit {
    /// Every change of these numbers; `others` are the numbers that they may be taken for.
    pub fn all(numbers: Numbers, others: &[Numbers], shapes: Shapes) -> Vec<Self> {
        use NumberChange as Change;
        let each = [
            Change::Default,
            Change::OneMore,
            Change::OneLess,
            Change::Doubled,
            Change::AtMost(1),
            Change::AtMost(2),
        ];
        // what is at least 1 and at most 1 is the default
        let each = each.into_iter().filter(|change| *change != Change::AtMost(numbers.default()));
        let taken = others.iter().enumerate().filter(|(_, other)| **other != numbers);
        let own_place = others.iter().position(|other| *other == numbers);
        let taken = taken.flat_map(|(place, other)| {
            // an exchange is the same from either side, and no exchange if the other numbers do not count
            let is_new = other.default() != numbers.default() || own_place.is_none_or(|own| own < place);
            let counts =
                shapes == Shapes::Following || !matches!(other, Numbers::PadsEnd | Numbers::OutputPadding);
            let exchanged = Some(Change::ExchangedWith(*other)).filter(|_| is_new && counts);
            [Some(Change::Of(*other)), exchanged].into_iter().flatten()
        });
        let scoped = each.chain(taken).flat_map(|change| {
            [Scope::All, Scope::First, Scope::Last].map(|scope| Self { numbers, change, scope, shapes })
        });
        let across = [Change::First, Change::Last, Change::Reversed, Change::Largest, Change::Smallest];
        let across = across.map(|change| Self { numbers, change, scope: Scope::All, shapes });
        let is_shift = numbers == Numbers::PadsBegin && shapes == Shapes::Kept;
        let shifts = [Scope::All, Scope::First, Scope::Last].into_iter().filter(|_| is_shift);
        let shifts = shifts.map(|scope| Self { numbers, change: Change::OneLessOrNegative, scope, shapes });
        scoped.chain(across).chain(shifts).collect()
    }

    /// Whether outputs get the shapes that follow from the changed numbers.
    pub fn changes_shapes(self) -> bool {
        self.shapes == Shapes::Following
    }

    /// Changes the reaches of a kernel along all axes, whose output keeps its shape; none if attributes were changed in their place.
    pub fn apply(self, reaches: &mut [Reach]) {
        if self.changes_shapes() || reaches.is_empty() {
            return;
        }
        let get = |numbers| reaches.iter().map(|reach| number(reach, numbers)).collect::<Vec<_>>();
        let (own, other) = (get(self.numbers), self.change.other().map(get));
        let (own, other) = self.changed(&own, other.as_deref());
        for (place, reach) in reaches.iter_mut().enumerate() {
            set_number(reach, self.numbers, own[place]);
            if let Some((numbers, other)) = self.exchanged().zip(other.as_ref()) {
                set_number(reach, numbers, other[place]);
            }
        }
    }

    /// Changes the attributes of an operator; those that are absent and those that `auto_pad` or `output_shape` overrides stay.
    pub fn apply_to_attributes(self, op: &mut Op) {
        let Some(own) = attribute(op, self.numbers) else { return };
        let other = self
            .change
            .other()
            .map(|numbers| attribute(op, numbers).unwrap_or_else(|| vec![numbers.default(); own.len()]));
        let (own, other) = self.changed(&own, other.as_deref());
        set_attribute(op, self.numbers, own);
        if let Some((numbers, other)) = self.exchanged().zip(other) {
            set_attribute(op, numbers, other);
        }
    }

    /// The numbers that change too.
    const fn exchanged(self) -> Option<Numbers> {
        match self.change {
            NumberChange::ExchangedWith(numbers) => Some(numbers),
            _ => None,
        }
    }

    fn changed(self, own: &[i64], other: Option<&[i64]>) -> (Vec<i64>, Option<Vec<i64>>) {
        let count = own.len();
        let least = self.numbers.default();
        let is_meant = |place: usize| match self.scope {
            Scope::All => true,
            Scope::First => place == 0,
            Scope::Last => place + 1 == count,
        };
        let one = |place: usize| match self.change {
            NumberChange::Default => least,
            NumberChange::First => own[0],
            NumberChange::Last => own[count - 1],
            NumberChange::Reversed => own[count - 1 - place],
            NumberChange::Largest => own.iter().copied().fold(own[0], i64::max),
            NumberChange::Smallest => own.iter().copied().fold(own[0], i64::min),
            NumberChange::OneMore => own[place].saturating_add(1),
            NumberChange::OneLess => own[place].saturating_sub(1).max(least),
            NumberChange::OneLessOrNegative => own[place].saturating_sub(1),
            NumberChange::Doubled => own[place].saturating_mul(2),
            NumberChange::AtMost(most) => own[place].min(most.max(least)),
            NumberChange::Of(_) | NumberChange::ExchangedWith(_) => other
                .as_ref()
                .and_then(|other| other.get(place))
                .map_or(own[place], |other| (*other).max(least)),
        };
        let one = |place: usize| one(place).clamp(-MOST, MOST);
        let changed = (0..count).map(|place| if is_meant(place) { one(place) } else { own[place] }).collect();
        let exchanged = other.map(|other| {
            let places = other.iter().enumerate();
            places
                .map(
                    |(place, other)| {
                        if is_meant(place) { own.get(place).copied().unwrap_or(*other) } else { *other }
                    },
                )
                .collect()
        });
        (changed, exchanged)
    }

    /// The name in names of edits.
    pub fn slug(self) -> String {
        let change = match self.change {
            NumberChange::Default => "default".to_owned(),
            NumberChange::First => "of-first-axis".to_owned(),
            NumberChange::Last => "of-last-axis".to_owned(),
            NumberChange::Reversed => "reversed".to_owned(),
            NumberChange::Largest => "largest".to_owned(),
            NumberChange::Smallest => "smallest".to_owned(),
            NumberChange::OneMore => "one-more".to_owned(),
            NumberChange::OneLess => "one-less".to_owned(),
            NumberChange::OneLessOrNegative => "one-less-or-negative".to_owned(),
            NumberChange::Doubled => "doubled".to_owned(),
            NumberChange::AtMost(most) => format!("at-most-{most}"),
            NumberChange::Of(numbers) => format!("taken-from-{}", numbers.slug()),
            NumberChange::ExchangedWith(numbers) => format!("exchanged-with-{}", numbers.slug()),
        };
        let scope = match self.scope {
            Scope::All => "",
            Scope::First => "-on-first-axis",
            Scope::Last => "-on-last-axis",
        };
        let shapes = match self.shapes {
            Shapes::Kept => "",
            Shapes::Following => "-with-shape",
        };
        format!("{}-{change}{scope}{shapes}", self.numbers.slug())
    }

    /// What sentences say of it, behind the operator.
    pub fn clause(self) -> String {
        let noun = self.numbers.noun();
        let scope = match self.scope {
            Scope::All => "",
            Scope::First => " along the first spatial axis",
            Scope::Last => " along the last spatial axis",
        };
        let change = match self.change {
            NumberChange::Default => format!("takes {noun} as {}", self.numbers.default()),
            NumberChange::First => format!("takes {noun} of the first spatial axis for every axis"),
            NumberChange::Last => format!("takes {noun} of the last spatial axis for every axis"),
            NumberChange::Reversed => format!("takes {noun} in reverse order of the axes"),
            NumberChange::Largest => format!("takes the largest of {noun} for every axis"),
            NumberChange::Smallest => format!("takes the smallest of {noun} for every axis"),
            NumberChange::OneMore => format!("takes {noun} as one more"),
            NumberChange::OneLess => {
                format!("takes {noun} as one less, but at least {}", self.numbers.default())
            }
            NumberChange::OneLessOrNegative => format!("takes {noun} as one less, even if that is negative,"),
            NumberChange::Doubled => format!("doubles {noun}"),
            NumberChange::AtMost(most) => format!("takes {noun} as at most {most}"),
            NumberChange::Of(numbers) => format!("takes {} for {noun}", numbers.noun()),
            NumberChange::ExchangedWith(numbers) => format!("exchanges {noun} and {}", numbers.noun()),
        };
        let shapes = match self.shapes {
            Shapes::Kept => ", and the output keeps its shape",
            Shapes::Following => "",
        };
        format!("{change}{scope}{shapes}")
    }
}

impl NumberChange {
    const fn other(self) -> Option<Numbers> {
        match self {
            Self::Of(numbers) | Self::ExchangedWith(numbers) => Some(numbers),
            _ => None,
        }
    }
}

fn number(reach: &Reach, numbers: Numbers) -> i64 {
    match numbers {
        Numbers::Strides => reach.stride as i64,
        Numbers::Dilations => reach.dilation as i64,
        Numbers::PadsBegin => reach.begin as i64,
        Numbers::PadsEnd => reach.end as i64,
        Numbers::OutputPadding => reach.output_padding as i64,
        Numbers::Kernel => reach.kernel as i64,
    }
}

fn set_number(reach: &mut Reach, numbers: Numbers, number: i64) {
    let natural = usize::try_from(number).unwrap_or(1);
    match numbers {
        Numbers::Strides => reach.stride = natural.max(1),
        Numbers::Dilations => reach.dilation = natural.max(1),
        Numbers::PadsBegin => reach.begin = number as isize,
        // what lies behind the output does not matter while its shape is kept
        Numbers::PadsEnd | Numbers::OutputPadding => {}
        Numbers::Kernel => reach.kernel = natural.clamp(1, 2 * reach.kernel.max(1)),
    }
}

/// The numbers that a window states, or the default of ONNX for them; `None` if the operator has none, or if `auto_pad` or
/// `output_shape` overrides them.
fn attribute(op: &Op, numbers: Numbers) -> Option<Vec<i64>> {
    let (axes, strides, dilations, pads, output_padding, are_pads_stated) = match op {
        Op::AveragePool(op) => (
            Some(op.kernel_shape.len()),
            op.strides.clone(),
            op.dilations.clone(),
            op.pads.clone(),
            None,
            op.auto_pad.is_none_or(|pad| pad == AutoPad::NotSet),
        ),
        Op::MaxPool(op) => (
            Some(op.kernel_shape.len()),
            op.strides.clone(),
            op.dilations.clone(),
            op.pads.clone(),
            None,
            op.auto_pad.is_none_or(|pad| pad == AutoPad::NotSet),
        ),
        op => {
            let window = match op {
                Op::ConvInteger(op) | Op::QLinearConv(op) => op.window(),
                op => op.window()?,
            };
            let vectors =
                [window.strides, window.dilations, window.output_padding].map(|v| v.map(<[i64]>::to_vec));
            let [strides, dilations, output_padding] = vectors;
            let pads = window.pads.map(<[i64]>::to_vec);
            let axes = [&strides, &dilations, &output_padding].into_iter().flatten().map(Vec::len).next();
            let axes = axes.or_else(|| pads.as_ref().map(|pads| pads.len() / 2));
            let axes = axes.or_else(|| window.kernel_shape.map(<[i64]>::len));
            let is_stated = window.auto_pad() == AutoPad::NotSet && window.output_shape.is_none();
            (axes, strides, dilations, pads, output_padding, is_stated)
        }
    };
    let axes = axes.filter(|axes| *axes > 0)?;
    let defaults = |of: Numbers| vec![of.default(); axes];
    let stated = match numbers {
        Numbers::Strides => strides.unwrap_or_else(|| defaults(numbers)),
        Numbers::Dilations => dilations.unwrap_or_else(|| defaults(numbers)),
        Numbers::PadsBegin | Numbers::PadsEnd if !are_pads_stated => return None,
        Numbers::PadsBegin => pads.map_or_else(|| defaults(numbers), |pads| pads[..pads.len() / 2].to_vec()),
        Numbers::PadsEnd => pads.map_or_else(|| defaults(numbers), |pads| pads[pads.len() / 2..].to_vec()),
        Numbers::OutputPadding => output_padding.unwrap_or_else(|| defaults(numbers)),
        Numbers::Kernel => match op {
            Op::AveragePool(op) => op.kernel_shape.clone(),
            Op::MaxPool(op) => op.kernel_shape.clone(),
            _ => return None,
        },
    };
    (stated.len() == axes).then_some(stated)
}

fn set_attribute(op: &mut Op, numbers: Numbers, changed: Vec<i64>) {
    let mut pads = [attribute(op, Numbers::PadsBegin), attribute(op, Numbers::PadsEnd)];
    match numbers {
        Numbers::PadsBegin => pads[0] = Some(changed.clone()),
        Numbers::PadsEnd => pads[1] = Some(changed.clone()),
        _ => {}
    }
    let pads = pads.into_iter().collect::<Option<Vec<_>>>().map(|pads| pads.concat());
    let pool = match op {
        Op::AveragePool(op) => Some((&mut op.strides, &mut op.dilations, &mut op.kernel_shape, &mut op.pads)),
        Op::MaxPool(op) => Some((&mut op.strides, &mut op.dilations, &mut op.kernel_shape, &mut op.pads)),
        _ => None,
    };
    if let Some((strides, dilations, kernel, of_pool)) = pool {
        match numbers {
            Numbers::Strides => *strides = Some(changed),
            Numbers::Dilations => *dilations = Some(changed),
            Numbers::Kernel => *kernel = changed,
            Numbers::PadsBegin | Numbers::PadsEnd => *of_pool = pads,
            Numbers::OutputPadding => {}
        }
        return;
    }
    let window = match op {
        Op::ConvInteger(op) | Op::QLinearConv(op) => Some(op.window_mut()),
        op => op.window_mut(),
    };
    let Some(window) = window else { return };
    match numbers {
        Numbers::Strides => *window.strides = Some(changed),
        Numbers::Dilations => *window.dilations = Some(changed),
        Numbers::PadsBegin | Numbers::PadsEnd => *window.pads = pads,
        Numbers::OutputPadding => {
            if let Some(output_padding) = window.output_padding {
                *output_padding = Some(changed);
            }
        }
        Numbers::Kernel => {}
    }
}
