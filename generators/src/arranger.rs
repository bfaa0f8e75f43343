//! Arrangements of the parts of a case: the blocks that networks are made of.
//!
//! The convolutions keep extents, divide them by a stride and round up, or double them, so that branches that split
//! have equal extents where they join.

use twinfer_onnx::Channels;

use crate::{
    Arrangement, Branches, Choices, Menu, Neighbor, Operator, Space,
    caps::Caps,
    channels,
    layer::Layer,
    part::{Operation, Part},
    pool::Pool,
    quantizers::Quantizers,
    setting::Setting,
};

/// The parts of a case under construction.
pub struct Arranger<'a> {
    space: &'a Space,
    quantizers: Option<Quantizers<'a>>,
    setting: Setting,
    caps: Caps,
    choices: &'a mut Choices,
    parts: Vec<Part>,
    /// The channels of each value; value 0 is the input.
    channels: Vec<usize>,
    multiple: usize,
}

/// The parts and the extents that they require.
pub struct Arranged {
    pub parts: Vec<Part>,
    /// The largest amount by which an extent exceeds the smallest possible one.
    pub slack: usize,
    /// Every extent is a multiple of this number.
    pub multiple: usize,
}

impl<'a> Arranger<'a> {
    pub fn new(
        space: &'a Space,
        quantizers: Option<Quantizers<'a>>,
        setting: Setting,
        choices: &'a mut Choices,
    ) -> Self {
        let caps = Caps::of_block(setting.rank);
        Self { space, quantizers, setting, caps, choices, parts: vec![], channels: vec![], multiple: 1 }
    }

    /// Draws the parts of a case with this arrangement.
    pub fn arrange(mut self, arrangement: Arrangement) -> Arranged {
        let last = match arrangement {
            Arrangement::Chain => self.chain(),
            block => {
                let channels = self.some_channels();
                self.channels.push(channels);
                self.block(block)
            }
        };
        if let Some(quantizers) = self.quantizers {
            self.feed(quantizers);
            self.give(last, quantizers);
        }
        Arranged { parts: self.parts, slack: self.caps.slack, multiple: self.multiple }
    }

    /// Feeds the input as integers, in some of the cases in which only a quantizer reads it.
    fn feed(&mut self, quantizers: Quantizers<'a>) {
        let mut readers = self.parts.iter_mut().filter(|part| part.inputs.contains(&0));
        let (Some(first), None) = (readers.next(), readers.next()) else { return };
        if let Operation::Quantizer(quantizer) = first.operation
            && quantizers.is_fed_integers(self.choices)
        {
            first.operation = Operation::DequantizeLinear(quantizer, quantizer.zero_point(self.choices));
        }
    }

    /// Quantizes the last value in some cases, and in some of them does not dequantize it.
    fn give(&mut self, last: usize, quantizers: Quantizers<'a>) {
        if let Some(quantizer) = quantizers.output(self.choices) {
            let gives_integers = quantizers.gives_integers(self.choices);
            let operation = if gives_integers {
                Operation::QuantizeLinear(quantizer)
            } else {
                Operation::Quantizer(quantizer)
            };
            self.apply(operation, vec![last]);
        }
    }

    fn chain(&mut self) -> usize {
        let length = self.space.length.draw(self.choices);
        self.caps = Caps::of(self.setting.rank, length).raised(self.space.size, self.setting.rank);
        let mut layers: Vec<Layer> = Vec::with_capacity(length);
        for place in 0..length {
            let operator = if place == 0 { self.space.lead } else { self.space.follower.draw(self.choices) };
            let channels = match layers.last() {
                Some(layer) => channels::behind(self.space, layer.output_channels(), self.caps, self.choices),
                None => self.first_channels(length),
            };
            layers.push(Layer::draw(
                self.space,
                operator,
                channels,
                self.setting.rank,
                self.caps,
                self.choices,
            ));
        }
        self.channels.push(layers[0].input_channels());
        let mut value = self.neighbors(0, |space| &space.before, 1);
        for layer in layers {
            value = self.quantized(value);
            value = self.layer(layer, value);
            value = self.neighbors(value, |space| &space.after, 2);
        }
        value
    }

    /// The channels of the first layer of a chain; layers with three spatial axes are never wide.
    fn first_channels(&mut self, length: usize) -> Channels {
        let quantizers = self.quantizers.filter(|_| length == 1 && self.setting.rank < 3);
        match quantizers.and_then(|quantizers| quantizers.wide(self.choices)) {
            Some(wide) => Channels { group: 1, inputs: wide.0, outputs: wide.1 },
            None => channels::draw(self.space, self.caps, self.choices),
        }
    }

    fn block(&mut self, block: Arrangement) -> usize {
        match block {
            Arrangement::Residual => self.residual(),
            Arrangement::Fan => self.fan(),
            Arrangement::Concat => self.concat(),
            Arrangement::Pooling => self.pooling(),
            Arrangement::EncoderDecoder => self.encoder_decoder(),
            Arrangement::Normalized | Arrangement::Chain => self.normalized(),
        }
    }

    fn normalized(&mut self) -> usize {
        let mut value = 0;
        for _ in 0..self.choices.within(1..=2) {
            let (outputs, stride) = (self.some_channels(), self.some_stride());
            value = self.cell(value, outputs, stride);
        }
        value
    }

    fn residual(&mut self) -> usize {
        let x = if self.choices.percent(30) { self.quantized(0) } else { 0 };
        let stride = self.some_stride();
        let outputs =
            if stride == 1 && self.choices.percent(60) { self.channels[x] } else { self.some_channels() };
        let between = self.some_channels();
        let mut main = self.cell(x, between, stride);
        main = self.convolution(main, outputs, 3, 1);
        main = self.sometimes(80, Neighbor::BatchNormalization, main);
        let mut shortcut = x;
        if stride > 1 || outputs != self.channels[x] {
            shortcut = self.convolution(x, outputs, 1, stride);
            shortcut = self.sometimes(60, Neighbor::BatchNormalization, shortcut);
        }
        let branches = self.space.branches.draw(self.choices);
        if matches!(branches, Branches::Main | Branches::Both) {
            main = self.surely_quantized(main);
        }
        if matches!(branches, Branches::Shortcut | Branches::Both) {
            shortcut = self.surely_quantized(shortcut);
        }
        let sum = self.apply(Operation::Add, vec![main, shortcut]);
        self.activated(80, sum)
    }

    fn fan(&mut self) -> usize {
        let producer = if self.choices.percent(60) {
            let outputs = self.some_channels();
            self.cell(0, outputs, 1)
        } else {
            0
        };
        let (outputs, stride) = (self.some_channels(), self.some_stride());
        let readers: Vec<_> = (0..self.choices.within(2..=3))
            .map(|_| {
                let own = self.surely_quantized(producer);
                let kernel = self.some_kernel();
                self.layer_of(Operator::Conv, own, outputs, kernel, stride)
            })
            .collect();
        if self.choices.percent(50) {
            return self.apply(Operation::Concat, readers);
        }
        let first = readers[0];
        readers[1..].iter().fold(first, |sum, reader| self.apply(Operation::Add, vec![sum, *reader]))
    }

    fn concat(&mut self) -> usize {
        let stride = self.some_stride();
        let mut branches: Vec<_> = (0..self.choices.within(1..=2))
            .map(|_| {
                let outputs = self.some_channels();
                self.cell(0, outputs, stride)
            })
            .collect();
        if stride == 1 {
            branches.push(0);
        } else {
            let outputs = self.some_channels();
            branches.push(self.convolution(0, outputs, 1, stride));
        }
        self.choices.shuffle(&mut branches);
        for branch in &mut branches {
            *branch = self.quantized(*branch);
        }
        let joined = self.apply(Operation::Concat, branches);
        let outputs = self.some_channels();
        let kernel = self.some_kernel();
        self.convolution(joined, outputs, kernel, 1)
    }

    fn pooling(&mut self) -> usize {
        let (outputs, kernel) = (self.some_channels(), self.some_kernel());
        let mut value = self.convolution(0, outputs, kernel, 1);
        // behind a Relu a pad of zero is as good as one of minus infinity
        value = self.activated(20, value);
        if self.choices.percent(40) {
            value = self.quantized(value);
        }
        let pooling = self.space.pooling.draw_if_several(self.choices);
        let form = self.space.pool_form.draw_if_several(self.choices);
        let pool = Pool::draw(pooling, form, self.setting, self.choices);
        value = self.apply(Operation::Pool(pool), vec![value]);
        let outputs = self.some_channels();
        self.cell(value, outputs, 1)
    }

    fn encoder_decoder(&mut self) -> usize {
        let outputs = self.some_channels();
        let skip = if self.choices.percent(40) { self.cell(0, outputs, 1) } else { 0 };
        if skip > 0 {
            // a value that was halved and doubled joins one that was not
            self.multiple = 2;
        }
        let wide = self.quantizers.and_then(|quantizers| quantizers.wide(self.choices));
        let (deep, outputs) = wide.unwrap_or_else(|| (self.some_channels(), self.some_channels()));
        let mut value = self.cell(skip, deep, 2);
        if wide.is_none() && self.choices.percent(40) {
            value = self.cell(value, deep, 1);
        }
        value = self.quantized(value);
        value = self.layer_of(Operator::ConvTranspose, value, outputs, 0, 2);
        if skip > 0 {
            let joined = self.apply(Operation::Concat, vec![value, skip]);
            let outputs = self.some_channels();
            return self.convolution(joined, outputs, 3, 1);
        }
        self.sometimes(20, Neighbor::BatchNormalization, value)
    }

    /// A convolution with BatchNormalization and an activation, or one of them, or neither.
    fn cell(&mut self, of: usize, outputs: usize, stride: usize) -> usize {
        let kernel = self.some_kernel();
        let value = self.convolution(of, outputs, kernel, stride);
        let value = self.sometimes(70, Neighbor::BatchNormalization, value);
        self.activated(75, value)
    }

    fn activated(&mut self, percent: u32, of: usize) -> usize {
        if !self.choices.percent(percent) {
            return of;
        }
        let activation = self.space.activation.draw_if_several(self.choices);
        let activation = Some(activation).filter(|activation| self.setting.suits(*activation));
        self.apply(Operation::Neighbor(activation.unwrap_or(Neighbor::Relu)), vec![of])
    }

    fn sometimes(&mut self, percent: u32, neighbor: Neighbor, of: usize) -> usize {
        if self.choices.percent(percent) { self.apply(Operation::Neighbor(neighbor), vec![of]) } else { of }
    }

    /// A Conv of a quantized value.
    fn convolution(&mut self, of: usize, outputs: usize, kernel: usize, stride: usize) -> usize {
        let of = self.quantized(of);
        self.layer_of(Operator::Conv, of, outputs, kernel, stride)
    }

    fn layer_of(
        &mut self,
        operator: Operator,
        of: usize,
        outputs: usize,
        kernel: usize,
        stride: usize,
    ) -> usize {
        let channels = (self.channels[of], outputs);
        let layer = match operator {
            Operator::Conv => {
                Layer::dividing(self.space, channels, self.setting.rank, (kernel, stride), self.choices)
            }
            Operator::ConvTranspose => Layer::doubling(self.space, channels, self.setting.rank, self.choices),
        };
        self.layer(layer, of)
    }

    fn layer(&mut self, layer: Layer, of: usize) -> usize {
        self.apply(Operation::Layer(layer), vec![of])
    }

    fn neighbors(
        &mut self,
        mut of: usize,
        menu: fn(&Space) -> &Menu<Option<Neighbor>>,
        most: usize,
    ) -> usize {
        for _ in 0..most {
            let suits = |neighbor: &Option<Neighbor>| neighbor.is_none_or(|one| self.setting.suits(one));
            let Some(neighbor) = menu(self.space).draw_among(self.choices, suits) else { break };
            of = self.apply(Operation::Neighbor(neighbor), vec![of]);
        }
        of
    }

    /// The quantized value; the value itself if there is no quantizer.
    fn quantized(&mut self, of: usize) -> usize {
        match self.quantizers.and_then(|quantizers| quantizers.activation(self.choices)) {
            Some(quantizer) => self.apply(Operation::Quantizer(quantizer), vec![of]),
            None => of,
        }
    }

    /// The value after a quantizer of its own; the value itself if nothing is quantized.
    fn surely_quantized(&mut self, of: usize) -> usize {
        match self.quantizers.map(|quantizers| quantizers.some_activation(self.choices)) {
            Some(quantizer) => self.apply(Operation::Quantizer(quantizer), vec![of]),
            None => of,
        }
    }

    fn apply(&mut self, operation: Operation, inputs: Vec<usize>) -> usize {
        let channels = match &operation {
            Operation::Layer(layer) => layer.output_channels(),
            Operation::Concat => inputs.iter().map(|source| self.channels[*source]).sum(),
            _ => self.channels[inputs[0]],
        };
        self.parts.push(Part { operation, inputs });
        self.channels.push(channels);
        self.parts.len()
    }

    fn some_channels(&mut self) -> usize {
        let most = self.caps.channels;
        self.space.channels.draw_among(self.choices, |count| *count <= most)
    }

    fn some_kernel(&mut self) -> usize {
        *self.choices.one_of(&[1, 3, 3, 3, 5])
    }

    fn some_stride(&mut self) -> usize {
        if self.choices.percent(35) { 2 } else { 1 }
    }
}
