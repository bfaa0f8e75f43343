/// How many climbs' worth of time others leave to suspects that may come.
const RESERVE: f64 = 2.0;
/// How many times more cases are drawn than time allows, so that what it allows is used.
const EAGERNESS: f64 = 2.0;

/// Sees to it that climbs take no more than their part of the backends' time.
///
/// Times are in microseconds. A climb is admitted while climbs took less than their part, so that they exceed it by one
/// at most; how long the first one takes is not known, and it is waited for.
pub struct TimeShare {
    /// The part of the whole that climbs may take.
    fraction: f64,
    /// Climbs under way at once.
    most: u64,
    /// What cases took before they climbed, if they did.
    below: f64,
    /// What climbs took.
    above: f64,
    cases: u64,
    climbs: u64,
    under_way: u64,
}

/// Why a case might climb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// It diverges, in a way that nobody knows.
    Suspect,
    /// This number between 0 and 1 was drawn for it.
    Drawn(f64),
}

/// What an earlier part of the campaign took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Cases before they climbed, in microseconds.
    pub below: u64,
    /// Climbs, in microseconds.
    pub above: u64,
    /// How many cases there were.
    pub cases: u64,
    /// How many climbed.
    pub climbs: u64,
}

impl TimeShare {
    /// Climbs may take `fraction` of the backends' time, `most` of them at once, after what is spent already.
    pub const fn new(fraction: f64, most: u64, spent: Spent) -> Self {
        let Spent { below, above, cases, climbs } = spent;
        Self { fraction, most, below: below as f64, above: above as f64, cases, climbs, under_way: 0 }
    }

    /// Whether a case may climb that might for this `reason`. It counts as under way until it [climbed](Self::climbed).
    pub fn admits(&mut self, reason: Reason) -> bool {
        if self.under_way >= self.most || self.climbs == 0 && self.under_way > 0 {
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

    /// Counts a case that took this long before it climbed, if it does.
    pub fn judged(&mut self, micros: u64) {
        self.cases += 1;
        self.below += micros as f64;
    }

    /// Counts a climb that took this long.
    pub fn climbed(&mut self, micros: u64) {
        self.under_way = self.under_way.saturating_sub(1);
        self.climbs += 1;
        self.above += micros as f64;
    }

    fn usual_cost(&self) -> f64 {
        self.above / self.climbs.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 1000;
    const CLIMB: u64 = 20_000;

    /// Numbers between 0 and 1 that look drawn.
    fn draws() -> impl Iterator<Item = f64> {
        (0_u64..).map(|index| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// How many of `cases` cases climbed, every `suspect`th of which is a suspect: suspects, and others.
    fn climbs(governor: &mut TimeShare, cases: u64, suspect: u64) -> (u64, u64) {
        let (mut suspects, mut others) = (0, 0);
        for (index, number) in (0..cases).zip(draws()) {
            let is_suspect = index % suspect == suspect - 1;
            let reason = if is_suspect { Reason::Suspect } else { Reason::Drawn(number) };
            if governor.admits(reason) {
                suspects += u64::from(is_suspect);
                others += u64::from(!is_suspect);
                governor.climbed(CLIMB);
            }
            governor.judged(BASE);
        }
        (suspects, others)
    }

    fn part(governor: &TimeShare) -> f64 {
        governor.above / (governor.above + governor.below)
    }

    #[test]
    fn climbs_take_their_part_of_the_time_and_no_more() {
        for fraction in [0.01, 0.1, 0.5] {
            let mut governor = TimeShare::new(fraction, 4, Spent::default());
            climbs(&mut governor, 100_000, 1_000_000);
            let part = part(&governor);
            assert!(part <= fraction && part > 0.95 * fraction, "{part} of {fraction}");
        }
    }

    #[test]
    fn at_no_time_is_the_part_exceeded_by_more_than_a_climb() {
        let mut governor = TimeShare::new(0.1, 4, Spent::default());
        for number in draws().take(20_000) {
            for reason in [Reason::Drawn(number), Reason::Suspect] {
                if governor.admits(reason) {
                    governor.climbed(CLIMB);
                }
            }
            governor.judged(BASE);
            let allowed = 0.1 * (governor.below + governor.above);
            assert!(governor.above <= allowed + CLIMB as f64, "{} of {allowed}", governor.above);
        }
    }

    #[test]
    fn suspects_climb_before_others() {
        // time for one climb in 180 cases, and a suspect in 200
        let mut governor = TimeShare::new(0.1, 4, Spent::default());
        climbs(&mut governor, 2000, 1_000_000);
        let (suspects, others) = climbs(&mut governor, 100_000, 200);
        assert_eq!(suspects, 500);
        assert!(others > 0 && others < 100, "{others}");
        // more suspects than there is time for
        let (suspects, others) = climbs(&mut governor, 100_000, 10);
        assert!(suspects > 500 && others == 0, "{suspects} and {others}");
    }

    #[test]
    fn any_case_may_be_drawn_however_long_it_takes() {
        let mut governor = TimeShare::new(0.1, 4, Spent::default());
        let mut lengths = [0_u64; 2];
        for (index, number) in (0..200_000_u64).zip(draws()) {
            let long = index % 2 == 1;
            if governor.admits(Reason::Drawn(number)) {
                lengths[usize::from(long)] += 1;
                governor.climbed(CLIMB);
            }
            governor.judged(if long { 10 * BASE } else { BASE });
        }
        let [short, long] = lengths;
        assert!(short * 2 > long && long * 2 > short, "{short} and {long}");
    }

    #[test]
    fn climbs_under_way_count_before_they_are_over() {
        let spent = Spent { below: 1_000_000_000, above: 40_000, cases: 1_000_000, climbs: 2 };
        let mut governor = TimeShare::new(0.1, 4, spent);
        let admitted = (0..10).filter(|_| governor.admits(Reason::Suspect)).count();
        assert_eq!(admitted, 4);
        governor.climbed(CLIMB);
        assert!(governor.admits(Reason::Suspect));
        // room for four, time for two
        let spent = Spent { below: 9 * 4 * CLIMB - 10 * BASE, above: 2 * CLIMB, cases: 1000, climbs: 2 };
        let mut governor = TimeShare::new(0.1, 4, spent);
        let admitted = (0..10).filter(|_| governor.admits(Reason::Suspect)).count();
        assert_eq!(admitted, 2);
    }

    #[test]
    fn nothing_follows_the_first_climb_until_its_length_is_known() {
        let mut governor = TimeShare::new(0.5, 4, Spent::default());
        governor.judged(1_000_000);
        assert!(governor.admits(Reason::Suspect) && !governor.admits(Reason::Suspect));
        governor.climbed(10);
        assert!(governor.admits(Reason::Suspect));
    }
}
