use twinfer_onnx::DataType;

use crate::{
    Arrangement, Choices, Dynamic, Operator, Padding, Runs, Space,
    arranger::{Arranged, Arranger},
    exact::{Ahead, growth},
    layer::Layer,
    parameters::Parameters,
    part::{Operation, Part},
    quantizer::quantizable,
    quantizers::Quantizers,
    setting::Setting,
};

/// The structure of a case: everything but names and values.
#[derive(Debug)]
pub struct Plan<'a> {
    pub precision: DataType,
    pub opset: i64,
    pub dynamic: Dynamic,
    pub runs: Runs,
    /// The parts in order. Value 0 is the input, and part `k` computes value `k + 1`.
    pub parts: Vec<Part>,
    /// The shapes that runs feed: one, or two if an axis is dynamic.
    pub points: Vec<Point>,
    pub parameters: Parameters,
    /// The quantizers; `None` if values are quantized only to keep them in range.
    pub quantizers: Option<Quantizers<'a>>,
}

/// The extents of a case's input in one of the shapes it is run in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub batch: usize,
    pub spatial: Vec<usize>,
}

impl<'a> Plan<'a> {
    pub fn draw(space: &'a Space, choices: &mut Choices) -> Self {
        let rank = space.rank.draw(choices);
        let precision = space.drawn_precision(choices);
        let opset = space.drawn_opset(precision, choices);
        let can_quantize = quantizable(precision, opset);
        let menus = space.quantization.as_ref().filter(|_| can_quantize);
        let quantizers = menus.filter(|menus| menus.applies.draw(choices));
        let quantizers = quantizers.map(|menus| Quantizers::draw(menus, choices));
        // branches that join are quantized if their values do not fit otherwise
        let arrangement = if can_quantize { space.arrangement.draw(choices) } else { Arrangement::Chain };
        let values = space.regime.draw(choices);
        let parameters = Parameters::new(values, precision, arrangement != Arrangement::Chain);
        let setting = Setting { rank, opset, values };
        let mut arranged = Arranger::new(space, quantizers, setting, choices).arrange(arrangement);
        drop_what_has_no_room(&mut arranged.parts, &parameters);
        let dynamic = space.dynamic.draw(choices);
        // with fixed shapes a third run adds little to a second one, so it is seldom worth its time
        let thrice = choices.percent(15);
        let runs = space.runs.draw_among(choices, |runs| runs.suit(dynamic) || thrice && *runs == Runs::ABA);
        let points = fit(space, &mut arranged, dynamic, runs, rank, choices);
        Self { precision, opset, dynamic, runs, parts: arranged.parts, points, parameters, quantizers }
    }

    /// The operators ahead of each value.
    pub fn ahead(&self) -> Vec<Ahead> {
        ahead(&self.parts, |_| true)
    }
}

impl Runs {
    /// Whether these runs are worth their time: several shapes need a dynamic axis.
    const fn suit(self, dynamic: Dynamic) -> bool {
        match self {
            Self::A | Self::AA => true,
            Self::AB | Self::ABA => dynamic.batch || dynamic.spatial,
            Self::EmptyFullEmpty => dynamic.batch,
        }
    }

    /// The point that each run feeds, and the index of the values drawn for it.
    pub const fn order(self) -> &'static [(usize, usize)] {
        match self {
            Self::A => &[(0, 0)],
            Self::AA => &[(0, 0), (0, 1)],
            Self::AB => &[(0, 0), (1, 0)],
            Self::ABA | Self::EmptyFullEmpty => &[(0, 0), (1, 0), (0, 0)],
        }
    }
}

/// How much more steps a value is made of than those that are joined in it, where they are of like size.
const JOINED: u64 = 4;

/// The operators ahead of each value, among the parts that are kept.
fn ahead(parts: &[Part], is_kept: impl Fn(usize) -> bool) -> Vec<Ahead> {
    let mut ahead = vec![Ahead::NOTHING; parts.len() + 1];
    for (place, part) in parts.iter().enumerate().rev() {
        let behind = ahead[place + 1];
        let through = match &part.operation {
            Operation::Layer(_) => behind.convolution(),
            Operation::Neighbor(neighbor) if is_kept(place) => behind.growth(growth(*neighbor)),
            Operation::Neighbor(_) => behind,
            Operation::Pool(pool) => behind.growth(pool.growth()),
            Operation::Add | Operation::Concat => behind.growth(JOINED),
            Operation::Quantizer(_) | Operation::QuantizeLinear(_) | Operation::DequantizeLinear(..) => {
                Ahead::NOTHING
            }
        };
        for source in &part.inputs {
            ahead[*source] = ahead[*source].and(through);
        }
    }
    ahead
}

/// Drops the neighbors that leave no room for the convolutions beside them; earlier ones are kept.
fn drop_what_has_no_room(parts: &mut Vec<Part>, parameters: &Parameters) {
    let mut is_kept: Vec<_> =
        parts.iter().map(|part| !matches!(part.operation, Operation::Neighbor(_))).collect();
    for place in 0..parts.len() {
        let is_neighbor = !is_kept[place];
        is_kept[place] = true;
        let fits = ahead(parts, |place| is_kept[place]).into_iter().all(|ahead| parameters.has_room(ahead));
        is_kept[place] = fits || !is_neighbor;
    }
    for place in (0..parts.len()).rev().filter(|place| !is_kept[*place]) {
        let source = parts.remove(place).inputs[0];
        for input in parts[place..].iter_mut().flat_map(|part| &mut part.inputs) {
            *input = if *input == place + 1 {
                source
            } else if *input > place {
                *input - 1
            } else {
                *input
            };
        }
    }
}

/// Finds extents on which every layer gives at least one output position, and the `output_shape`s that they allow.
fn fit(
    space: &Space,
    Arranged { parts, slack, multiple }: &mut Arranged,
    dynamic: Dynamic,
    runs: Runs,
    rank: usize,
    choices: &mut Choices,
) -> Vec<Point> {
    let needs = needs(parts, rank, choices);
    let batch = space.batch.draw(choices);
    let extents = |choices: &mut Choices| -> Vec<usize> {
        needs[0]
            .iter()
            .map(|least| (least + choices.within(0..=*slack)).next_multiple_of(*multiple))
            .collect()
    };
    let first = Point { batch, spatial: extents(choices) };
    let mut points = vec![first.clone()];
    if runs.order().iter().any(|(point, _)| *point == 1) {
        let spatial = if dynamic.spatial { extents(choices) } else { first.spatial };
        let other =
            if dynamic.batch { space.batch.draw_among(choices, |other| *other != batch) } else { batch };
        points.push(Point { batch: other, spatial });
    }
    if runs == Runs::EmptyFullEmpty && dynamic.batch {
        points[0].batch = 0;
    }
    choose_output_shapes(parts, &needs, &points, choices);
    points
}

/// The smallest extents of each value that the parts behind it need.
fn needs(parts: &[Part], rank: usize, choices: &mut Choices) -> Vec<Vec<usize>> {
    let mut needs = vec![vec![1; rank]; parts.len() + 1];
    needs[parts.len()] = (0..rank).map(|_| choices.within(1..=2)).collect();
    for (place, part) in parts.iter().enumerate().rev() {
        let behind = needs[place + 1].clone();
        for source in &part.inputs {
            for (axis, need) in needs[*source].iter_mut().enumerate() {
                *need = part.least_input(axis, behind[axis]).max(*need);
            }
        }
    }
    needs
}

fn choose_output_shapes(parts: &mut [Part], needs: &[Vec<usize>], points: &[Point], choices: &mut Choices) {
    let mut extents: Vec<Vec<Vec<usize>>> = vec![points.iter().map(|point| point.spatial.clone()).collect()];
    for (part, needs) in parts.iter_mut().zip(&needs[1..]) {
        let sources = &extents[part.inputs[0]];
        let outputs = match &mut part.operation {
            Operation::Layer(layer) => {
                choose_output_shape(layer, needs, sources, choices);
                let op = layer.op();
                sources.iter().map(|extents| layer.output(&op, extents)).collect()
            }
            Operation::Pool(pool) => sources.iter().map(|extents| pool.output(extents)).collect(),
            _ => sources.clone(),
        };
        extents.push(outputs);
    }
}

fn choose_output_shape(layer: &mut Layer, needs: &[usize], extents: &[Vec<usize>], choices: &mut Choices) {
    if layer.operator != Operator::ConvTranspose || !layer.padding.has_output_shape() {
        return;
    }
    // ONNX's shape inference gives up on an output below the input, and what follows it is refused
    let shrinking = choices.percent(5);
    // beside VALID, an output_shape that crops contradicts it
    let is_natural = layer.padding == Padding::OutputShapeValid && choices.percent(75);
    let shape = (0..needs.len()).map(|axis| {
        let naturals = extents.iter().map(|extents| layer.natural_output(axis, extents[axis]));
        let natural = naturals.min().unwrap_or(needs[axis]);
        if is_natural {
            return natural;
        }
        let input = extents.iter().map(|extents| extents[axis]).max().unwrap_or(0).min(natural);
        let least = if shrinking { needs[axis] } else { needs[axis].max(input) };
        output_extent(least, natural, layer.axes[axis].span(), choices)
    });
    layer.output_shape = Some(shape.collect());
}

/// An extent of at least `least` that crops no more than the kernel's span from `natural`, and mostly an odd number
/// of positions, which the two ends cannot share alike.
fn output_extent(least: usize, natural: usize, span: usize, choices: &mut Choices) -> usize {
    let most = (natural - least).min(span.max(1));
    let cropped = choices.within(0..=most);
    let odd = if cropped.is_multiple_of(2) && choices.percent(60) { cropped + 1 } else { cropped };
    natural - if odd <= most { odd } else { cropped }
}
