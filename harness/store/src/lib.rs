//! The only owner of what twinfer keeps on disk: run directories with their journals, folders of findings and cases, and
//! recorded observations.
//!
//! No other crate knows the name of a file in a run directory, or in the folder of a finding or a case. Everything that is read
//! is foreign: sizes are bounded, links out of a folder are not followed, and a file in another format is an error that names
//! it.
//!
//! ```
//! # fn main() -> Result<(), twinfer_store::StoreError> {
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! let run = twinfer_store::new_run_directory_in(folder.path())?;
//! assert!(run.ends_with("0001"));
//! # Ok(())
//! # }
//! ```

mod adopt;
mod case_folder;
mod chain;
mod data_sets;
mod differences;
mod disk;
mod error;
mod files;
mod finding_folder;
mod findings_folder;
mod journal;
mod lines;
mod lost_findings;
mod merge;
mod merged_findings;
mod model_file;
mod model_inputs;
mod names;
mod page;
mod preceding;
mod recording;
mod records;
mod replay;
mod run;
mod run_directory;
mod seen_cases;
mod topic;

pub use adopt::{adopt, adopt_by_name};
pub use case_folder::{
    Outputs, has_case, read_case, read_case_file, read_output, write_case_folder, write_generated_case,
};
pub use data_sets::data_sets;
pub use disk::{Disk, LocalDisk};
pub use error::StoreError;
pub use finding_folder::{
    OpaqueFinding, files_of_finding, has_finding, read_finding, update_finding, write_finding,
    write_opaque_finding,
};
pub use findings_folder::{FindingsFolder, findings_of, findings_of_run, known_findings, run_of_finding};
pub use journal::{Journal, OpenCases, Resumed, StoredFinding};
pub use lost_findings::check_findings;
pub use merge::merge;
pub use merged_findings::SameBug;
pub use model_file::read_model;
pub use model_inputs::{InputsProblem, ModelInputsError, NumpyError, read_model_inputs};
pub use names::{CASE, MODEL, tensor_file};
pub use page::{page_of, write_page};
pub use preceding::{read_preceding, write_preceding};
pub use recording::{
    Observed, RecordedObservation, Recording, has_recording, without_recordings, without_timings,
};
pub use records::Records;
pub use replay::replay_events;
pub use run::{RunEnded, machine, now, read_run, record_end, record_recognized, run_id};
pub use run_directory::{RunDirectory, Start, debug_log, has_run, new_run_directory, new_run_directory_in};
pub use topic::{has_topic, read_topic};
