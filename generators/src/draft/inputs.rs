use twinfer_case::{Recipe, Regime, Run, TensorSource};
use twinfer_onnx::{Dim, ValueInfo};

use super::{Draft, feed::Feed, value::Value};
use crate::{BATCH, Dynamic, plan::Point};

impl Draft<'_> {
    pub(super) fn runs(&mut self) -> Vec<Run> {
        let order = self.plan.runs.order();
        let mut seeds = || [self.choices.seed(), self.choices.seed(), self.choices.seed()];
        let seeds: Vec<_> = self.feeds.iter().map(|_| seeds()).collect();
        let last = self.plan.points.len() - 1;
        let inputs = |(point, values): (usize, usize)| {
            let recipe = |(feed, seeds): (&Feed, &[u64; 3])| {
                let shape = feed.shapes[point.min(last)].clone();
                let recipe =
                    Recipe { dtype: feed.dtype, shape, regime: feed.regime, seed: seeds[2 * values + point] };
                TensorSource::Recipe(recipe)
            };
            Run { inputs: self.feeds.iter().zip(&seeds).map(recipe).collect() }
        };
        order.iter().copied().map(inputs).collect()
    }

    pub(super) fn add_input(&mut self, value: &Value, regime: Regime) {
        let declared = self.declared(value);
        self.graph.inputs.push(declared);
        let shape = |(point, extents): (&Point, &Vec<usize>)| {
            [point.batch, value.channels].into_iter().chain(extents.iter().copied()).collect()
        };
        let shapes = self.plan.points.iter().zip(&value.extents).map(shape).collect();
        self.feeds.push(Feed { dtype: value.dtype, shapes, regime });
    }

    /// The value as the graph declares it: dynamic axes by name, the batch by the same name everywhere.
    pub(super) fn declared(&self, value: &Value) -> ValueInfo {
        let dim = |dynamic, name: &dyn Fn() -> String, extent| {
            if dynamic { Dim::Symbolic(name()) } else { Dim::Fixed(extent) }
        };
        let Dynamic { batch, spatial } = self.plan.dynamic;
        let batch = dim(batch, &|| BATCH.to_owned(), self.plan.points[0].batch);
        let spatial = value.extents[0]
            .iter()
            .enumerate()
            .map(|(axis, extent)| dim(spatial, &|| format!("{}_D{axis}", value.name), *extent));
        let shape = [batch, Dim::Fixed(value.channels)].into_iter().chain(spatial).collect();
        ValueInfo { name: value.name.clone(), dtype: value.dtype, shape: Some(shape) }
    }
}
