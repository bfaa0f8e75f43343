//! The cases of a run in their order: what came of them, and when findings showed first.

use std::collections::BTreeMap;

use twinfer_case::{CaseRecord, Event, Verdict};

use crate::Reporter;

/// The most spans that a run is divided into.
const MAX_SPANS: usize = 96;

/// The cases of a run, counted in spans of equal length. The memory does not grow with the number of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The cases of a span, by their numbers: a power of 2.
    length: u64,
    spans: Vec<Span>,
    /// The number of the first case that shows each finding, by folder name.
    first_shown: BTreeMap<String, u64>,
    /// One more than the highest number of a case; 0 if there is none.
    end: u64,
}

/// What came of the cases of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Cases that differ on some backend.
    pub differs: u64,
    /// Cases that agree on some backend and differ on none.
    pub agrees: u64,
    /// Cases that are judged on no backend.
    pub not_judged: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { length: 1, spans: Vec::new(), first_shown: BTreeMap::new(), end: 0 }
    }
}

impl Timeline {
    /// The cases of a span, by their numbers; the last span may have fewer.
    pub const fn span_length(&self) -> u64 {
        self.length
    }

    /// The spans in order, from case 0 on.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// One more than the highest number of a case; 0 if there is none.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// The numbers of the cases that show a finding first, in order.
    pub fn discoveries(&self) -> Vec<u64> {
        let mut numbers: Vec<_> = self.first_shown.values().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    fn record(&mut self, case: &CaseRecord) {
        while case.index / self.length >= MAX_SPANS as u64 {
            self.double();
        }
        let place = (case.index / self.length) as usize;
        if self.spans.len() <= place {
            self.spans.resize(place + 1, Span::default());
        }
        self.spans[place].record(case);
        self.end = self.end.max(case.index.saturating_add(1));
        for slug in &case.findings {
            let first = self.first_shown.entry(slug.clone()).or_insert(case.index);
            *first = case.index.min(*first);
        }
    }

    /// Joins neighboring spans.
    fn double(&mut self) {
        self.length = self.length.saturating_mul(2);
        self.spans = self.spans.chunks(2).map(Span::sum).collect();
    }
}

impl Span {
    /// All cases of the span.
    pub const fn cases(self) -> u64 {
        self.differs + self.agrees + self.not_judged
    }

    fn record(&mut self, case: &CaseRecord) {
        let is = |of: fn(&Verdict) -> bool| case.variants.iter().any(|one| of(&one.verdict));
        if is(|verdict| matches!(verdict, Verdict::Diverges(_))) {
            self.differs += 1;
        } else if is(|verdict| *verdict == Verdict::Conforms) {
            self.agrees += 1;
        } else {
            self.not_judged += 1;
        }
    }

    fn sum(spans: &[Self]) -> Self {
        spans.iter().fold(Self::default(), |sum, span| Self {
            differs: sum.differs + span.differs,
            agrees: sum.agrees + span.agrees,
            not_judged: sum.not_judged + span.not_judged,
        })
    }
}

impl Reporter for Timeline {
    fn on_event(&mut self, event: &Event) {
        if let Event::CaseFinished { record } = event {
            self.record(record);
        }
    }
}
