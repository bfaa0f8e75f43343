use twinfer_case::Growth;

/// After so many answers a worker is weighed for the first time, when libraries have loaded most of the kernels that cases
/// need, and after as many more again and again.
const INTERVAL: u64 = 1024;
/// How much more than twice what it held then is too much.
const ALLOWANCE: u64 = 128 << 20;

/// What a worker holds as it answers case after case. Libraries that keep something of each would fill the machine in a
/// night.
#[derive(Debug, Default)]
pub struct LeakDetector {
    answers: u64,
    /// Bytes that it held when it was young.
    young: Option<u64>,
}

impl LeakDetector {
    /// Counts an answer; tells how much the worker has grown once that is too much. `weigh` says what it holds, where the
    /// system tells.
    pub fn answered(&mut self, weigh: impl FnOnce() -> Option<u64>) -> Option<Growth> {
        self.answers += 1;
        if !self.answers.is_multiple_of(INTERVAL) {
            return None;
        }
        let now = weigh()?;
        let young = *self.young.get_or_insert(now);
        (now > 2 * young + ALLOWANCE).then_some(Growth { from: young, to: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many answers a worker is replaced that holds so many bytes after each, if it is.
    fn lives(holds: impl Fn(u64) -> u64) -> Option<u64> {
        let mut weights = LeakDetector::default();
        (1..100_000).find(|answers| weights.answered(|| Some(holds(*answers))).is_some())
    }

    #[test]
    fn what_is_kept_of_each_case_adds_up() {
        // like a worker of ONNX Runtime CUDA that came to 2.4 GB after 16,384 cases
        assert_eq!(lives(|answers| 800_000_000 + 95_000 * answers), Some(12_288));
        assert_eq!(lives(|_| 3_400_000_000), None);
        assert_eq!(lives(|answers| 3_400_000_000 + 1000 * answers), None);
    }

    #[test]
    fn what_a_worker_needs_it_may_take_however_much_that_is() {
        assert_eq!(lives(|answers| (answers * 10_000_000).min(10_240_000_000)), None);
        assert_eq!(lives(|answers| if answers > 5000 { ALLOWANCE + 10 } else { 5 }), None);
        assert_eq!(lives(|answers| if answers > 5000 { ALLOWANCE + 11 } else { 5 }), Some(5120));
    }

    #[test]
    fn where_the_system_does_not_tell_it_stays() {
        let mut weights = LeakDetector::default();
        assert!((0..10_000).all(|_| weights.answered(|| None).is_none()));
    }
}
