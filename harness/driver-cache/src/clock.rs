use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// When a question is asked, from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Duration);

impl Moment {
    /// This one.
    pub fn now() -> Self {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self(START.elapsed())
    }
}
