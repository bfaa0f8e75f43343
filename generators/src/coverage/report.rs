use std::fmt;

use super::{Coverage, columns, fact::FACTS, impossible};

/// The options that a stream of cases covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverageReport {
    /// Cases.
    pub cases: u64,
    /// Convolutions of valid cases; each has one value of every attribute.
    pub operators: u64,
    /// How often each fact holds.
    pub facts: Vec<FactCount>,
    /// How often each value occurs.
    pub values: Vec<ValueCount>,
    /// How often each pair of values of two attributes occurs.
    pub pairs: Vec<PairCount>,
    /// The pairs that never occur.
    pub missing: Vec<MissingPair>,
    /// Invalid cases by the rule they break.
    pub rules: Vec<(String, u64)>,
}

/// How often something holds that concerns a case as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactCount {
    /// What holds.
    pub fact: &'static str,
    /// Cases, valid or not, for which it does.
    pub count: u64,
}

/// How often one value of an attribute occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueCount {
    /// The attribute.
    pub attribute: &'static str,
    /// Its value.
    pub value: &'static str,
    /// Convolutions that have it.
    pub count: u64,
}

/// How often two values occur together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairCount {
    /// An attribute and its value.
    pub first: (&'static str, &'static str),
    /// Another attribute and its value.
    pub second: (&'static str, &'static str),
    /// Convolutions that have both.
    pub count: u64,
}

/// Two values that never occur together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingPair {
    /// An attribute and its value.
    pub first: (&'static str, &'static str),
    /// Another attribute and its value.
    pub second: (&'static str, &'static str),
    /// Why no case can have both options; `None` if a case can.
    pub reason: Option<&'static str>,
}

impl Coverage {
    /// The report of the options that occurred and of those that never did.
    pub fn report(&self) -> CoverageReport {
        let columns: Vec<_> = columns().map(|(attribute, value)| (attribute.name, value)).collect();
        let values = columns.iter().enumerate().map(|(column, (attribute, value))| ValueCount {
            attribute,
            value,
            count: self.count(column, column),
        });
        let pairs: Vec<_> = (0..columns.len())
            .flat_map(|second| (0..second).map(move |first| (first, second)))
            .filter(|(first, second)| columns[*first].0 != columns[*second].0)
            .map(|(first, second)| PairCount {
                first: columns[first],
                second: columns[second],
                count: self.count(first, second),
            })
            .collect();
        let missing = pairs.iter().filter(|pair| pair.count == 0 && self.operators > 0);
        let missing = missing.map(|PairCount { first, second, .. }| MissingPair {
            first: *first,
            second: *second,
            reason: impossible::reason(*first, *second),
        });
        CoverageReport {
            cases: self.cases,
            operators: self.operators,
            facts: FACTS
                .iter()
                .zip(&self.facts)
                .map(|(fact, count)| FactCount { fact: fact.name, count: *count })
                .collect(),
            values: values.collect(),
            missing: missing.collect(),
            pairs,
            rules: self.rules.iter().map(|(rule, count)| (rule.clone(), *count)).collect(),
        }
    }
}

/// As Markdown: the values, the rarest pairs, and the pairs that never occur.
impl fmt::Display for CoverageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} cases. The valid ones have {} convolutions (Conv and ConvTranspose).",
            self.cases, self.operators
        )?;
        if !self.rules.is_empty() {
            writeln!(f, "\n| ONNX rule that an invalid case breaks | cases |\n| --- | ---: |")?;
        }
        self.rules.iter().try_for_each(|(rule, count)| writeln!(f, "| {rule} | {count} |"))?;
        writeln!(f, "\n| what a case has | cases |\n| --- | ---: |")?;
        self.facts.iter().try_for_each(|FactCount { fact, count }| writeln!(f, "| {fact} | {count} |"))?;
        if self.operators == 0 {
            return Ok(());
        }
        writeln!(f, "\n| attribute | values, each with the convolutions that have it |\n| --- | --- |")?;
        for values in self.values.chunk_by(|first, second| first.attribute == second.attribute) {
            let counts: Vec<_> =
                values.iter().map(|value| format!("{}: {}", value.value, value.count)).collect();
            writeln!(f, "| {} | {} |", values[0].attribute, counts.join(", "))?;
        }
        self.write_pairs(f)
    }
}

impl CoverageReport {
    fn write_pairs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (impossible, open): (Vec<&MissingPair>, Vec<&MissingPair>) =
            self.missing.iter().partition(|pair| pair.reason.is_some());
        let name = |(attribute, value): (&str, &str)| format!("{attribute}: {value}");
        writeln!(
            f,
            "\n{} pairs of values; {} occur, {} never do: {} that no case can have, and {} that one could.",
            self.pairs.len(),
            self.pairs.len() - self.missing.len(),
            self.missing.len(),
            impossible.len(),
            open.len()
        )?;
        writeln!(f, "\n| pair that never occurs | | why |\n| --- | --- | --- |")?;
        for pair in open.into_iter().chain(impossible) {
            let reason = pair.reason.unwrap_or("possible, but not generated here");
            writeln!(f, "| {} | {} | {reason} |", name(pair.first), name(pair.second))?;
        }
        let mut rarest: Vec<_> = self.pairs.iter().filter(|pair| pair.count > 0).collect();
        rarest.sort_by_key(|pair| pair.count);
        writeln!(f, "\n| rarest pairs that occur | | convolutions |\n| --- | --- | ---: |")?;
        rarest.iter().take(20).try_for_each(|pair| {
            writeln!(f, "| {} | {} | {} |", name(pair.first), name(pair.second), pair.count)
        })
    }
}
