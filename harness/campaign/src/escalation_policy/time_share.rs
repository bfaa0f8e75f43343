/// How many escalations' worth of time sampled cases leave to suspects that may come.
const RESERVE: f64 = 2.0;
/// How many times more cases are sampled than time allows, so that the time is used up.
const EAGERNESS: f64 = 2.0;

/// Keeps escalations within their share of the backends' time.
///
/// Times are in microseconds. An escalation is admitted while escalations took less than their share, so that they exceed it by
/// one at most. How long the first one takes is unknown, so the second waits for it.
pub struct TimeShare {
    /// The share of the whole that escalations may take, from 0 to 1.
    fraction: f64,
    /// How many escalations may be under way at once.
    most: u64,
    /// What cases took on the variants that run every case.
    below: f64,
    /// What escalations took.
    above: f64,
    cases: u64,
    escalations: u64,
    under_way: u64,
}

/// Why a case might be escalated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// It diverges in a way that resembles no known finding.
    Suspect,
    /// A number between 0 and 1 was drawn for it.
    Drawn(f64),
}

/// What an earlier part of the campaign spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Cases on the variants that run every case, in µs.
    pub below: u64,
    /// Escalations, in µs.
    pub above: u64,
    /// How many cases there were.
    pub cases: u64,
    /// How many were escalated.
    pub escalations: u64,
}

impl TimeShare {
    /// Escalations may take `fraction` of the backends' time, `most` of them at once, after what is spent already.
    pub const fn new(fraction: f64, most: u64, spent: Spent) -> Self {
        let Spent { below, above, cases, escalations } = spent;
        Self { fraction, most, below: below as f64, above: above as f64, cases, escalations, under_way: 0 }
    }

    /// Whether a case may be escalated for this `reason`. It counts as under way until it has been [escalated](Self::escalated).
    pub fn admits(&mut self, reason: Reason) -> bool {
        if self.under_way >= self.most || self.escalations == 0 && self.under_way > 0 {
            return false;
        }
        let cost = self.usual_cost();
        let above = self.above + self.under_way as f64 * cost;
        let allowed = self.fraction * (self.below + above);
        let admits = match reason {
            Reason::Suspect => above <= allowed,
            Reason::Drawn(number) => {
                above + RESERVE * cost <= allowed && number * cost * self.cases as f64 <= EAGERNESS * allowed
            }
        };
        self.under_way += u64::from(admits);
        admits
    }

    /// Counts a case that took this long on the variants that run every case.
    pub fn judged(&mut self, micros: u64) {
        self.cases += 1;
        self.below += micros as f64;
    }

    /// Counts an escalation that took this long.
    pub fn escalated(&mut self, micros: u64) {
        self.under_way = self.under_way.saturating_sub(1);
        self.escalations += 1;
        self.above += micros as f64;
    }

    fn usual_cost(&self) -> f64 {
        self.above / self.escalations.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 1000;
    const ESCALATION: u64 = 20_000;

    /// Numbers between 0 and 1 that look drawn.
    fn draws() -> impl Iterator<Item = f64> {
        (0_u64..).map(|index| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// How many of `cases` cases were escalated, every `suspect`th of which is a suspect: suspects, and others.
    fn escalate(share: &mut TimeShare, cases: u64, suspect: u64) -> (u64, u64) {
        let (mut suspects, mut others) = (0, 0);
        for (index, number) in (0..cases).zip(draws()) {
            let is_suspect = index % suspect == suspect - 1;
            let reason = if is_suspect { Reason::Suspect } else { Reason::Drawn(number) };
            if share.admits(reason) {
                suspects += u64::from(is_suspect);
                others += u64::from(!is_suspect);
                share.escalated(ESCALATION);
            }
            share.judged(BASE);
        }
        (suspects, others)
    }

    fn part(share: &TimeShare) -> f64 {
        share.above / (share.above + share.below)
    }

    #[test]
    fn escalations_use_up_their_share_and_no_more() {
        for fraction in [0.01, 0.1, 0.5] {
            let mut share = TimeShare::new(fraction, 4, Spent::default());
            escalate(&mut share, 100_000, 1_000_000);
            let part = part(&share);
            assert!(part <= fraction && part > 0.95 * fraction, "{part} of {fraction}");
        }
    }

    #[test]
    fn share_is_never_exceeded_by_more_than_one_escalation() {
        let mut share = TimeShare::new(0.1, 4, Spent::default());
        for number in draws().take(20_000) {
            for reason in [Reason::Drawn(number), Reason::Suspect] {
                if share.admits(reason) {
                    share.escalated(ESCALATION);
                }
            }
            share.judged(BASE);
            let allowed = 0.1 * (share.below + share.above);
            assert!(share.above <= allowed + ESCALATION as f64, "{} of {allowed}", share.above);
        }
    }

    #[test]
    fn suspects_are_escalated_before_sampled_cases() {
        // time for one escalation in 180 cases, and a suspect in 200
        let mut share = TimeShare::new(0.1, 4, Spent::default());
        escalate(&mut share, 2000, 1_000_000);
        let (suspects, others) = escalate(&mut share, 100_000, 200);
        assert_eq!(suspects, 500);
        assert!(others > 0 && others < 100, "{others}");
        // more suspects than there is time for
        let (suspects, others) = escalate(&mut share, 100_000, 10);
        assert!(suspects > 500 && others == 0, "{suspects} and {others}");
    }

    #[test]
    fn long_cases_are_sampled_as_often_as_short_ones() {
        let mut share = TimeShare::new(0.1, 4, Spent::default());
        let mut lengths = [0_u64; 2];
        for (index, number) in (0..200_000_u64).zip(draws()) {
            let long = index % 2 == 1;
            if share.admits(Reason::Drawn(number)) {
                lengths[usize::from(long)] += 1;
                share.escalated(ESCALATION);
            }
            share.judged(if long { 10 * BASE } else { BASE });
        }
        let [short, long] = lengths;
        assert!(short * 2 > long && long * 2 > short, "{short} and {long}");
    }

    #[test]
    fn escalations_under_way_count_before_they_end() {
        let spent = Spent { below: 1_000_000_000, above: 40_000, cases: 1_000_000, escalations: 2 };
        let mut share = TimeShare::new(0.1, 4, spent);
        let admitted = (0..10).filter(|_| share.admits(Reason::Suspect)).count();
        assert_eq!(admitted, 4);
        share.escalated(ESCALATION);
        assert!(share.admits(Reason::Suspect));
        // room for four, time for two
        let spent = Spent {
            below: 9 * 4 * ESCALATION - 10 * BASE,
            above: 2 * ESCALATION,
            cases: 1000,
            escalations: 2,
        };
        let mut share = TimeShare::new(0.1, 4, spent);
        let admitted = (0..10).filter(|_| share.admits(Reason::Suspect)).count();
        assert_eq!(admitted, 2);
    }

    #[test]
    fn second_escalation_waits_for_the_length_of_the_first() {
        let mut share = TimeShare::new(0.5, 4, Spent::default());
        share.judged(1_000_000);
        assert!(share.admits(Reason::Suspect) && !share.admits(Reason::Suspect));
        share.escalated(10);
        assert!(share.admits(Reason::Suspect));
    }
}
