//! The formats of a difference.

use crate::{Difference, Format, difference_junit, page};

impl Difference {
    /// Renders the difference; `None` for HTML, which only a campaign report has.
    pub fn render(&self, format: Format) -> Option<String> {
        match format {
            Format::Junit => Some(difference_junit::render(self)),
            format => page::render(self, format, Self::terminal, Self::markdown),
        }
    }
}
