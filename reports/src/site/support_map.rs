use std::collections::{BTreeMap, HashMap};

use super::{
    column::Column,
    tally::{Cell, ColumnTally},
};

/// A row of the support map: what a case has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the row is about: an operator, or the case as a whole.
    pub subject: String,
    /// The attribute, in words.
    pub attribute: String,
    /// Its value, in words.
    pub value: String,
}

/// How every backend did, by version and by what the cases have.
pub struct SupportMap {
    rows: Vec<Row>,
    columns: BTreeMap<Column, ColumnTally>,
    /// The rows of the cases that do not conform everywhere, by case number.
    rows_of_cases: HashMap<u64, Box<[u16]>>,
}

impl SupportMap {
    /// A map with these rows and nothing counted.
    pub fn new(rows: Vec<Row>) -> Self {
        Self { rows, columns: BTreeMap::new(), rows_of_cases: HashMap::new() }
    }

    /// Adds what a run counted.
    pub fn add(&mut self, columns: BTreeMap<Column, ColumnTally>, rows: HashMap<u64, Box<[u16]>>) {
        for (column, tally) in columns {
            self.columns.entry(column).or_default().add(tally);
        }
        self.rows_of_cases.extend(rows);
    }

    /// Forgets the findings that are not to be kept.
    pub fn retain_findings(&mut self, is_kept: &dyn Fn(&str) -> bool) {
        self.columns.values_mut().for_each(|column| column.retain_findings(is_kept));
    }

    /// The columns in order: the versions of one variant stand together.
    pub fn columns(&self) -> impl Iterator<Item = (&Column, &ColumnTally)> {
        self.columns.iter()
    }

    /// The rows that have a case, with their cells by column, in runs of one subject and attribute.
    pub fn rows(&self) -> impl Iterator<Item = (&Row, Vec<Option<&Cell>>)> {
        self.rows.iter().zip(0..).filter_map(|(row, index)| {
            let cells: Vec<_> = self.columns.values().map(|column| column.cells.get(&index)).collect();
            cells.iter().any(Option::is_some).then_some((row, cells))
        })
    }

    /// The row at `index`.
    pub fn row(&self, index: u16) -> Option<&Row> {
        self.rows.get(usize::from(index))
    }

    /// The rows of a case that does not conform everywhere.
    pub fn rows_of(&self, case: u64) -> &[u16] {
        self.rows_of_cases.get(&case).map_or(&[], |rows| rows)
    }
}
