use twinfer_onnx::{Node, volume};

use crate::Unknown;

/// The limits on one evaluation: golden is slow and keeps every value of the graph in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of elements of all values together, and of pairs of an output and a kernel position of one
    /// node.
    pub elements: u64,
    /// The largest number of multiply-accumulates of all nodes together.
    pub multiply_accumulates: u64,
}

impl Default for Limits {
    /// Limits that allow about ten seconds and a gigabyte.
    fn default() -> Self {
        Self { elements: 1 << 24, multiply_accumulates: 1 << 34 }
    }
}

impl Limits {
    /// Subtracts the cost of a value of these extents; even an empty value has axes to loop over.
    pub fn hold(&mut self, name: &str, extents: &[usize]) -> Result<(), Unknown> {
        let left = volume(extents).and_then(|volume| self.elements.checked_sub(volume as u64));
        self.elements = left.ok_or_else(|| too_large(name, format!("extents {extents:?}")))?;
        Ok(())
    }

    /// Subtracts the memory and the work of a convolution or pooling.
    pub fn convolve(
        &mut self,
        node: &Node,
        output: &[usize],
        kernel: &[usize],
        channels: usize,
    ) -> Result<(), Unknown> {
        let product =
            |extents: &[usize]| extents.iter().fold(1, |product: u64, x| product.saturating_mul(*x as u64));
        let taps = product(&output[2..]).saturating_mul(product(kernel));
        if taps > self.elements {
            return Err(too_large(&node.name, format!("{taps} pairs of an output and a kernel position")));
        }
        let work = product(output).saturating_mul(product(kernel)).saturating_mul(channels as u64);
        match self.multiply_accumulates.checked_sub(work) {
            Some(left) => self.multiply_accumulates = left,
            None => return Err(too_large(&node.name, format!("{work} multiply-accumulates"))),
        }
        Ok(())
    }
}

fn too_large(name: &str, what: String) -> Unknown {
    Unknown::TooLarge { name: name.to_owned(), what }
}
