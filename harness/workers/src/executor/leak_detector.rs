use twinfer_case::MemoryGrowth;

/// Answers between two measurements. The first one is late enough that libraries have loaded most of the kernels that
/// cases need.
const INTERVAL: u64 = 1024;
/// Bytes beyond twice the first measurement that a worker may hold.
const ALLOWANCE: u64 = 128 << 20;

/// Detects a worker whose memory grows case after case. Libraries that keep something of each case would otherwise fill
/// the machine in a night.
#[derive(Debug, Default)]
pub struct LeakDetector {
    answers: u64,
    /// Bytes at the first measurement.
    baseline: Option<u64>,
}

impl LeakDetector {
    /// Counts an answer and, at every interval, calls `measure` for the bytes that the worker holds. Returns the growth if
    /// it is too much; `None` otherwise, and if the system does not report memory.
    pub fn record_answer(&mut self, measure: impl FnOnce() -> Option<u64>) -> Option<MemoryGrowth> {
        self.answers += 1;
        if !self.answers.is_multiple_of(INTERVAL) {
            return None;
        }
        let now = measure()?;
        let baseline = *self.baseline.get_or_insert(now);
        (now > 2 * baseline + ALLOWANCE).then_some(MemoryGrowth { from: baseline, to: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of answers after which growth is detected in a worker that holds so many bytes after each; `None` if
    /// never.
    fn detected_after(bytes: impl Fn(u64) -> u64) -> Option<u64> {
        let mut detector = LeakDetector::default();
        (1..100_000).find(|answers| detector.record_answer(|| Some(bytes(*answers))).is_some())
    }

    #[test]
    fn leak_per_case_is_detected() {
        // like a worker of ONNX Runtime CUDA that came to 2.4 GB after 16,384 cases
        assert_eq!(detected_after(|answers| 800_000_000 + 95_000 * answers), Some(12_288));
        assert_eq!(detected_after(|_| 3_400_000_000), None);
        assert_eq!(detected_after(|answers| 3_400_000_000 + 1000 * answers), None);
    }

    #[test]
    fn memory_up_to_the_allowance_is_no_leak() {
        assert_eq!(detected_after(|answers| (answers * 10_000_000).min(10_240_000_000)), None);
        assert_eq!(detected_after(|answers| if answers > 5000 { ALLOWANCE + 10 } else { 5 }), None);
        assert_eq!(detected_after(|answers| if answers > 5000 { ALLOWANCE + 11 } else { 5 }), Some(5120));
    }

    #[test]
    fn unreported_memory_is_no_leak() {
        let mut detector = LeakDetector::default();
        assert!((0..10_000).all(|_| detector.record_answer(|| None).is_none()));
    }
}
