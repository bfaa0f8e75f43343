use twinfer_workers::Observed;

use crate::{generator::PreparedCase, judging::ExecutedCase};

/// What has arrived of a case.
#[derive(Default)]
pub struct Pending {
    pub referenced: Option<PreparedCase>,
    /// By variant: the observation, and that of the second run.
    pub observed: Vec<(Option<Observed>, Option<Observed>)>,
}

impl Pending {
    pub fn is_complete(&self) -> bool {
        let Some(referenced) = &self.referenced else { return false };
        !self.observed.is_empty()
            && self
                .observed
                .iter()
                .all(|(first, repeat)| first.is_some() && (repeat.is_some() || !referenced.repeated))
    }

    pub fn complete(self) -> Option<ExecutedCase> {
        let observed = self.observed.into_iter().filter_map(|(first, repeat)| Some((first?, repeat)));
        Some(ExecutedCase { referenced: self.referenced?, observed: observed.collect() })
    }
}
