use console::{Alignment, measure_text_width, pad_str};
use twinfer_case::printable_line;

use crate::styled::Styled;

/// A table with a header row; the first columns are text, the others numbers.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    text_columns: usize,
}

impl Table {
    pub fn new<'h>(head: impl IntoIterator<Item = &'h str>, text_columns: usize) -> Self {
        Self { rows: vec![head.into_iter().map(str::to_owned).collect()], text_columns }
    }

    /// A table with the header `head` and only text columns.
    pub fn of_text(head: Vec<String>) -> Self {
        Self { text_columns: head.len(), rows: vec![head] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The rows as indented lines, with columns aligned and separated by two spaces.
    pub fn aligned(&self, indent: &str) -> Vec<Styled> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let line_of = |row: &Vec<String>| row.iter().map(|cell| printable_line(cell).into_owned()).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(line_of).collect();
        let width = |column: usize| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| measure_text_width(cell))
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line =
            |row: &Vec<String>| Styled::plain(format!("{indent}{}", self.line(row, &widths)).trim_end());
        rows.iter().map(line).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, &width))| {
            let side = if column < self.text_columns { Alignment::Left } else { Alignment::Right };
            pad_str(cell, width, side, None).into_owned()
        });
        cells.collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::{Styled, Table};

    #[test]
    fn text_columns_align_left_and_numbers_right() {
        let mut table = Table::new(["variant", "cases"], 1);
        table.row(vec!["ort:cpu".into(), "12,304".into()]);
        table.row(vec!["trt".into(), "7".into()]);
        let lines = ["  variant   cases", "  ort:cpu  12,304", "  trt           7"];
        assert_eq!(table.aligned("  "), lines.map(Styled::plain));
    }
}
