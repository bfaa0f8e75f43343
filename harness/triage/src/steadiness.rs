//! Whether a symptom recurs each time, as the runs of a reduction show.

/// Repetitions in which a symptom recurs before it counts as steady; the campaign saw it twice before.
const STEADY: usize = 2;

/// What the repetitions of cases that show a symptom have shown so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steadiness {
    recurred: usize,
    is_unsteady: bool,
}

impl Steadiness {
    /// The steadiness of a symptom that failed to recur.
    pub const UNSTEADY: Self = Self { recurred: 0, is_unsteady: true };

    /// Whether a case that shows the symptom is expected to show it again.
    pub const fn is_expected(self) -> bool {
        !self.is_unsteady && self.recurred >= STEADY
    }

    /// Notes whether the symptom recurred in a case that had shown it.
    pub const fn record(&mut self, recurs: bool) {
        self.recurred += 1;
        self.is_unsteady |= !recurs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symptoms_that_recur_are_expected_and_those_that_did_not_never_are() {
        let mut steadiness = Steadiness::default();
        for is_expected in [false, true] {
            steadiness.record(true);
            assert_eq!(steadiness.is_expected(), is_expected);
        }
        steadiness.record(false);
        steadiness.record(true);
        assert!(!steadiness.is_expected());
        assert!(!Steadiness::UNSTEADY.is_expected());
    }
}
