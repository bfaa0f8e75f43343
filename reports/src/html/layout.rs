//! Places the boxes of a graph in layers, from top to bottom, so that edges point down.

/// The free space between two layers, in pixels: an edge and the label at its start.
const LAYER_GAP: f64 = 52.0;
/// The free space between two boxes of a layer.
const BOX_GAP: f64 = 28.0;
/// The width that an edge takes where it passes a layer.
const LANE: f64 = 12.0;
/// How often layers are ordered anew, downward and upward in turn.
const SWEEPS: usize = 6;

/// A box to be placed: its width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

/// A point, in pixels from the upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// Where everything is.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The middle of the upper side of each box.
    pub boxes: Vec<Point>,
    /// The points that each edge goes through, from the box above to the one below.
    pub edges: Vec<Vec<Point>>,
    /// The size of the whole.
    pub size: Size,
}

/// Places boxes with edges between them. An edge leads from an earlier box to a later one; others are left without points.
pub fn layout(sizes: &[Size], edges: &[(usize, usize)]) -> Layout {
    let layers = layers_of(sizes.len(), edges);
    let mut chart = Chart::new(sizes, edges, &layers);
    chart.order();
    chart.place()
}

/// The layer of each box: one below all that lead to it, and a box that nothing leads to one above the first that it leads to.
fn layers_of(boxes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0_usize; boxes];
    for to in 0..boxes {
        let above =
            edges.iter().filter(|(from, end)| *end == to && *from < to).map(|(from, _)| layers[*from] + 1);
        layers[to] = above.max().unwrap_or(0);
    }
    for from in 0..boxes {
        let is_source = !edges.iter().any(|(start, to)| *to == from && *start < from);
        let below =
            edges.iter().filter(|(start, to)| *start == from && from < *to).map(|(_, to)| layers[*to]);
        if let Some(first) = below.min().filter(|_| is_source) {
            layers[from] = first.saturating_sub(1);
        }
    }
    layers
}

/// The boxes and lanes that one is linked to.
#[derive(Clone, Default)]
struct Neighbors {
    above: Vec<usize>,
    below: Vec<usize>,
}

/// The boxes and the lanes of edges that pass layers, by layer.
struct Chart {
    sizes: Vec<Size>,
    /// Boxes and lanes in the order in which they stand in each layer.
    layers: Vec<Vec<usize>>,
    /// What leads to each box or lane from the layer above, and to what it leads in the layer below.
    neighbors: Vec<Neighbors>,
    /// The boxes and lanes that each edge goes through.
    paths: Vec<Vec<usize>>,
    boxes: usize,
}

impl Chart {
    fn new(boxes: &[Size], edges: &[(usize, usize)], layers_of: &[usize]) -> Self {
        let mut sizes = boxes.to_vec();
        let depth = layers_of.iter().max().map_or(0, |deepest| deepest + 1);
        let mut layers = vec![Vec::new(); depth];
        for (place, layer) in layers_of.iter().enumerate() {
            layers[*layer].push(place);
        }
        let mut paths = Vec::with_capacity(edges.len());
        for &(from, to) in edges {
            if from >= to {
                paths.push(Vec::new());
                continue;
            }
            let mut path = vec![from];
            for layer in &mut layers[layers_of[from] + 1..layers_of[to]] {
                layer.push(sizes.len());
                path.push(sizes.len());
                sizes.push(Size { width: LANE, height: 0.0 });
            }
            path.push(to);
            paths.push(path);
        }
        let mut neighbors = vec![Neighbors::default(); sizes.len()];
        for link in paths.iter().flat_map(|path| path.windows(2)) {
            neighbors[link[0]].below.push(link[1]);
            neighbors[link[1]].above.push(link[0]);
        }
        Self { neighbors, sizes, layers, paths, boxes: boxes.len() }
    }

    /// Puts what is linked below or above each other.
    fn order(&mut self) {
        let mut ranks = vec![0.0; self.sizes.len()];
        self.rank(&mut ranks);
        for sweep in 0..SWEEPS {
            let is_downward = sweep % 2 == 0;
            let count = self.layers.len();
            for step in 0..count {
                let layer = if is_downward { step } else { count - 1 - step };
                let mut wanted: Vec<_> = self.layers[layer]
                    .iter()
                    .map(|&one| (self.mean(one, is_downward, &ranks), one))
                    .collect();
                wanted.sort_by(|one, other| one.0.total_cmp(&other.0));
                self.layers[layer] = wanted.into_iter().map(|(_, one)| one).collect();
                self.rank(&mut ranks);
            }
        }
    }

    /// Writes to `ranks` where each box or lane stands in its layer, from 0 to 1.
    fn rank(&self, ranks: &mut [f64]) {
        for layer in &self.layers {
            for (place, one) in layer.iter().enumerate() {
                ranks[*one] = (place as f64 + 0.5) / layer.len() as f64;
            }
        }
    }

    /// The mean rank of what leads to a box, or of what it leads to; its own rank if that is nothing.
    fn mean(&self, one: usize, of_above: bool, ranks: &[f64]) -> f64 {
        let Neighbors { above, below } = &self.neighbors[one];
        let found = if of_above { above } else { below };
        if found.is_empty() {
            return ranks[one];
        }
        found.iter().map(|&neighbor| ranks[neighbor]).sum::<f64>() / found.len() as f64
    }

    /// Centers the layers below each other.
    fn place(&self) -> Layout {
        let width_of = |layer: &Vec<usize>| {
            let boxes: f64 = layer.iter().map(|&one| self.sizes[one].width).sum();
            boxes + BOX_GAP * layer.len().saturating_sub(1) as f64
        };
        let width = self.layers.iter().map(width_of).fold(0.0, f64::max);
        let mut points = vec![Point { x: 0.0, y: 0.0 }; self.sizes.len()];
        let mut lowest = vec![0.0; self.sizes.len()];
        let mut y = 0.0;
        for layer in &self.layers {
            let height = layer.iter().map(|&one| self.sizes[one].height).fold(0.0, f64::max);
            let mut x = (width - width_of(layer)) / 2.0;
            for &one in layer {
                points[one] = Point { x: x + self.sizes[one].width / 2.0, y };
                lowest[one] = if one < self.boxes { y + self.sizes[one].height } else { y + height };
                x += self.sizes[one].width + BOX_GAP;
            }
            y += height + LAYER_GAP;
        }
        let through = |path: &Vec<usize>| {
            let ends = |place: usize, one: usize| {
                let (top, bottom) = (points[one], Point { y: lowest[one], ..points[one] });
                match place {
                    0 => vec![bottom],
                    _ if place + 1 == path.len() => vec![top],
                    _ => vec![top, bottom],
                }
            };
            path.iter().enumerate().flat_map(|(place, &one)| ends(place, one)).collect()
        };
        Layout {
            edges: self.paths.iter().map(through).collect(),
            size: Size { width, height: (y - LAYER_GAP).max(0.0) },
            boxes: points[..self.boxes].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Size = Size { width: 100.0, height: 40.0 };

    #[test]
    fn chain_stands_in_one_column() {
        let layout = layout(&[BOX; 3], &[(0, 1), (1, 2)]);
        let places: Vec<_> = layout.boxes.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(places, [(50.0, 0.0), (50.0, 92.0), (50.0, 184.0)]);
        assert_eq!(layout.edges[0], [Point { x: 50.0, y: 40.0 }, Point { x: 50.0, y: 92.0 }]);
        assert_eq!(layout.size, Size { width: 100.0, height: 224.0 });
    }

    #[test]
    fn edge_that_passes_a_layer_goes_around_its_boxes() {
        let layout = layout(&[BOX; 3], &[(0, 1), (1, 2), (0, 2)]);
        let passing = &layout.edges[2];
        assert_eq!(passing.len(), 4);
        let middle = layout.boxes[1].x;
        assert!((passing[1].x - middle).abs() > BOX.width / 2.0, "{layout:?}");
    }

    #[test]
    fn boxes_of_a_layer_do_not_overlap_and_stand_by_their_links() {
        let layout = layout(&[BOX; 6], &[(0, 3), (1, 2), (2, 4), (3, 5)]);
        let [x2, x3] = [2, 3].map(|place| layout.boxes[place].x);
        assert!((x2 - x3).abs() >= BOX.width, "{layout:?}");
        assert_eq!(layout.boxes[0].x < layout.boxes[1].x, x3 < x2, "{layout:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_graph_is_placed(
            boxes in 0_usize..40,
            edges in proptest::collection::vec((0_usize..40, 0_usize..40), 0..120),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(from, to)| *from < boxes && *to < boxes).collect();
            let layout = layout(&vec![BOX; boxes], &edges);
            for (points, (from, to)) in layout.edges.iter().zip(&edges) {
                proptest::prop_assert_eq!(points.is_empty(), from >= to);
                proptest::prop_assert!(points.windows(2).all(|pair| pair[0].y <= pair[1].y), "{points:?}");
            }
            let is_inside = |point: &Point| point.x >= 0.0 && point.x <= layout.size.width && point.y <= layout.size.height;
            proptest::prop_assert!(layout.boxes.iter().all(is_inside));
        }
    }

    #[test]
    fn nothing_and_edges_backward_are_no_error() {
        assert!(layout(&[], &[]).boxes.is_empty());
        assert_eq!(layout(&[BOX; 2], &[(1, 0), (0, 0)]).edges, [vec![], vec![]]);
    }
}
