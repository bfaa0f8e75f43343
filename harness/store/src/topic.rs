use std::path::Path;

use twinfer_case::Topic;

use crate::{StoreError, files::read_json_in, names::TOPIC};

/// Whether `folder` holds a topic: a case, or a behavior without a case, with the upstream report of it.
pub fn has_topic(folder: &Path) -> bool {
    folder.join(TOPIC).is_file()
}

/// The topic in `folder`, which may be foreign: nothing outside the folder is read. `None` if there is none.
pub fn read_topic(folder: &Path) -> Result<Option<Topic>, StoreError> {
    has_topic(folder).then(|| read_json_in(folder, TOPIC)).transpose()
}
