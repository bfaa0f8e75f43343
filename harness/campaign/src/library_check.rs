use std::{thread, time::Duration};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use twinfer_case::Libraries;

use crate::CampaignError;

/// How long the check may take. Reading takes about a second per gigabyte; a network drive may be slower.
const DEADLINE: Duration = Duration::from_mins(10);

/// The verification of the libraries that a campaign's variants load. It runs on a thread of its own while the first workers
/// start; no case runs before it has ended.
#[derive(Clone, Default)]
pub struct LibraryCheck(Option<Receiver<Result<Libraries, String>>>);

impl LibraryCheck {
    /// Starts `verify`, which returns the libraries, or the message that names the file that is not as installed.
    pub fn start(verify: impl FnOnce() -> Result<Libraries, String> + Send + 'static) -> Self {
        let (sender, receiver) = bounded(1);
        thread::spawn(move || drop(sender.send(verify())));
        Self(Some(receiver))
    }

    /// Waits for the verification; without one, there are no libraries.
    pub(crate) fn wait(&self) -> Result<Libraries, CampaignError> {
        let Some(receiver) = &self.0 else { return Ok(Libraries::default()) };
        match receiver.recv_timeout(DEADLINE) {
            Ok(verified) => verified.map_err(CampaignError::Library),
            Err(RecvTimeoutError::Timeout) => Err(CampaignError::Library(
                "cannot read the libraries within 10 minutes: check the disk".to_owned(),
            )),
            Err(RecvTimeoutError::Disconnected) => {
                Err(CampaignError::Supervisor("the thread that verifies libraries ended early".to_owned()))
            }
        }
    }
}
