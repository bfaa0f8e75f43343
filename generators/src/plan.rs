use twinfer_onnx::DataType;

use crate::{
    Choices, Dynamic, Neighbour, Operator, Runs, Space,
    layer::{Caps, Layer},
    parameters::Parameters,
};

/// The structure of a case: everything but names and values.
#[derive(Debug)]
pub struct Plan {
    pub precision: DataType,
    pub opset: i64,
    pub dynamic: Dynamic,
    pub runs: Runs,
    pub layers: Vec<Layer>,
    pub before: Vec<Neighbour>,
    /// What follows each layer.
    pub after: Vec<Vec<Neighbour>>,
    /// The shapes that runs feed: one, or two where an axis is dynamic.
    pub points: Vec<Point>,
    pub parameters: Parameters,
}

/// The extents of a case's input in one of the shapes it is run in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub batch: usize,
    pub spatial: Vec<usize>,
}

impl Plan {
    pub fn draw(space: &Space, choices: &mut Choices) -> Self {
        let (rank, length) = (space.rank.draw(choices), space.length.draw(choices));
        let precision = space.precision.draw(choices);
        let dynamic = space.dynamic.draw(choices);
        let caps = Caps::of(rank, length);
        let mut layers = chain(space, rank, length, caps, choices);
        let mut parameters = Parameters::new(space.regime.draw(choices), precision, length);
        let before = neighbours(&space.before, 1, &mut parameters, choices);
        let after = (0..length).map(|_| neighbours(&space.after, 2, &mut parameters, choices)).collect();
        // with fixed shapes a third run tells little more than a second, so that it is seldom worth its time
        let thrice = choices.percent(15);
        let runs = space.runs.draw_among(choices, |runs| runs.suit(dynamic) || thrice && *runs == Runs::ABA);
        let points = fit(space, &mut layers, dynamic, runs, caps, choices);
        let opset = space.opset.draw(choices);
        Self { precision, opset, dynamic, runs, layers, before, after, points, parameters }
    }
}

impl Runs {
    /// Whether these runs tell more than fewer would: several shapes want an axis that changes.
    const fn suit(self, dynamic: Dynamic) -> bool {
        match self {
            Self::A | Self::AA => true,
            Self::AB | Self::ABA => dynamic.batch || dynamic.spatial,
            Self::EmptyFullEmpty => dynamic.batch,
        }
    }

    /// Which point each run feeds, and which of the values drawn for it.
    pub const fn order(self) -> &'static [(usize, usize)] {
        match self {
            Self::A => &[(0, 0)],
            Self::AA => &[(0, 0), (0, 1)],
            Self::AB => &[(0, 0), (1, 0)],
            Self::ABA | Self::EmptyFullEmpty => &[(0, 0), (1, 0), (0, 0)],
        }
    }
}

fn chain(space: &Space, rank: usize, length: usize, caps: Caps, choices: &mut Choices) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::with_capacity(length);
    for place in 0..length {
        let operator = if place == 0 { space.lead } else { space.follower.draw(choices) };
        let channels = layers.last().map(Layer::output_channels);
        layers.push(Layer::draw(space, operator, channels, rank, caps, choices));
    }
    layers
}

/// Up to `most` neighbours, each with room in the budget.
fn neighbours(
    menu: &crate::Menu<Option<Neighbour>>,
    most: usize,
    parameters: &mut Parameters,
    choices: &mut Choices,
) -> Vec<Neighbour> {
    (0..most).map_while(|_| menu.draw(choices)).filter(|neighbour| parameters.reserve(*neighbour)).collect()
}

/// Finds extents on which every layer gives at least one output position, and the `output_shape`s that they allow.
fn fit(
    space: &Space,
    layers: &mut [Layer],
    dynamic: Dynamic,
    runs: Runs,
    caps: Caps,
    choices: &mut Choices,
) -> Vec<Point> {
    let rank = layers[0].axes.len();
    let needs = needs(layers, choices);
    let batch = space.batch.draw(choices);
    let extents = |choices: &mut Choices| -> Vec<usize> {
        (0..rank)
            .map(|axis| layers[0].least_input(axis, needs[0][axis]) + choices.within(0..=caps.slack))
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
    choose_output_shapes(layers, &needs, &points, choices);
    points
}

/// The least output of each layer along each axis: what the layers behind it need.
fn needs(layers: &[Layer], choices: &mut Choices) -> Vec<Vec<usize>> {
    let rank = layers[0].axes.len();
    let mut needs = vec![(0..rank).map(|_| choices.within(1..=2)).collect::<Vec<_>>()];
    for layer in layers[1..].iter().rev() {
        let behind = &needs[needs.len() - 1];
        needs.push((0..rank).map(|axis| layer.least_input(axis, behind[axis])).collect());
    }
    needs.reverse();
    needs
}

fn choose_output_shapes(layers: &mut [Layer], needs: &[Vec<usize>], points: &[Point], choices: &mut Choices) {
    let mut extents: Vec<Vec<usize>> = points.iter().map(|point| point.spatial.clone()).collect();
    for (layer, needs) in layers.iter_mut().zip(needs) {
        if layer.operator == Operator::ConvTranspose && layer.padding.has_output_shape() {
            // ONNX's shape inference gives up on an output below the input, and what follows it is refused
            let shrinking = choices.percent(5);
            let shape = (0..needs.len()).map(|axis| {
                let naturals = extents.iter().map(|extents| layer.natural_output(axis, extents[axis]));
                let natural = naturals.min().unwrap_or(needs[axis]);
                let input = extents.iter().map(|extents| extents[axis]).max().unwrap_or(0).min(natural);
                let least = if shrinking { needs[axis] } else { needs[axis].max(input) };
                output_extent(least, natural, layer.axes[axis].span(), choices)
            });
            layer.output_shape = Some(shape.collect());
        }
        let op = layer.op();
        for extents in &mut extents {
            *extents = layer.output(&op, extents);
        }
    }
}

/// An extent of at least `least` that crops no more than the kernel's span from `natural`, and mostly an odd number
/// of positions, which the two ends cannot share alike.
fn output_extent(least: usize, natural: usize, span: usize, choices: &mut Choices) -> usize {
    let most = (natural - least).min(span.max(1));
    let cropped = choices.within(0..=most);
    let odd = if cropped.is_multiple_of(2) && choices.percent(60) { cropped + 1 } else { cropped };
    natural - if odd <= most { odd } else { cropped }
}
