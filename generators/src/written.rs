use crate::{Choices, Space};

/// Which of the optional attributes are written though the backend could do without.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each attribute is written or not on its own")]
pub struct Written {
    pub kernel_shape: bool,
    pub strides: bool,
    pub dilations: bool,
    pub group: bool,
}

impl Written {
    pub fn draw(space: &Space, choices: &mut Choices) -> Self {
        let mut default_written = || space.default_written.draw(choices);
        Self {
            strides: default_written(),
            dilations: default_written(),
            group: default_written(),
            kernel_shape: space.kernel_shape_written.draw(choices),
        }
    }
}
