//! rten on one thread.

use std::sync::Arc;

use rten::{Model, RunOptions, ThreadPool, ValueOrView};
use twinfer_onnx::{DataType, Interface, Tensor};

use crate::{refusal::Refusal, tensors};

/// The runtime, which keeps nothing from one model to the next.
pub struct Runtime {
    threads: Arc<ThreadPool>,
}

/// A model that rten has read and optimized.
pub struct Loaded {
    model: Model,
    /// The element type that the model declares for each output; `None` where it declares none that twinfer knows.
    outputs: Vec<Option<DataType>>,
}

impl Loaded {
    /// Reads the bytes of an ONNX model and optimizes it, which rten does in one call.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        // a model that twinfer cannot describe is left to rten
        let interface = Interface::decode(bytes).ok();
        let values = interface.iter().flat_map(|interface| interface.inputs.iter().chain(&interface.outputs));
        values.map(|value| value.dtype).try_for_each(tensors::check)?;
        let model = Model::load(bytes.to_vec())?;
        let declared = |place: usize| Some(interface.as_ref()?.outputs.get(place)?.dtype);
        let outputs = (0..model.output_ids().len()).map(declared).collect();
        Ok(Self { model, outputs })
    }
}

impl Runtime {
    pub fn new() -> Self {
        Self { threads: Arc::new(ThreadPool::with_num_threads(1)) }
    }

    /// The outputs of the model, in its order.
    pub fn run(&self, loaded: &Loaded, inputs: &[Tensor]) -> Result<Vec<Tensor>, Refusal> {
        let Loaded { model, outputs } = loaded;
        let values = inputs.iter().map(|input| Ok(ValueOrView::Value(tensors::to_value(input)?)));
        let values = values.collect::<Result<Vec<_>, Refusal>>()?;
        if values.len() != model.input_ids().len() {
            return Err(Refusal::new(
                "number of inputs",
                format!("the model has {}", model.input_ids().len()),
            ));
        }
        let fed = model.input_ids().iter().copied().zip(values).collect();
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.threads)));
        let computed = model.run(fed, model.output_ids(), Some(options))?;
        computed
            .into_iter()
            .zip(outputs)
            .map(|(value, declared)| tensors::from_value(value, *declared))
            .collect()
    }
}
