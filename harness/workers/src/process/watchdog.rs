use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::shared_child::SharedChild;

/// Knows the processes of all workers, to kill them at the end.
#[derive(Clone, Default)]
pub struct Watchdog {
    watched: Arc<Mutex<Watched>>,
}

#[derive(Default)]
struct Watched {
    children: Vec<Weak<SharedChild>>,
    is_shut_down: bool,
}

impl Watchdog {
    /// Watches a process as long as it is held.
    pub fn watch(&self, child: &Arc<SharedChild>) {
        let mut watched = self.watched();
        watched.children.retain(|child| child.strong_count() > 0);
        watched.children.push(Arc::downgrade(child));
        if watched.is_shut_down {
            child.kill();
        }
    }

    /// Kills all workers, and each that starts from now on.
    pub fn shut_down(&self) {
        let mut watched = self.watched();
        watched.is_shut_down = true;
        watched.children.iter().filter_map(Weak::upgrade).for_each(|child| child.kill());
    }

    /// Whether all workers were killed because the campaign is over.
    pub fn is_shut_down(&self) -> bool {
        self.watched().is_shut_down
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
