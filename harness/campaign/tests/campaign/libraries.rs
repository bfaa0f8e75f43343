//! The verification of libraries, which runs while the first workers start.

use twinfer_campaign::{CampaignError, LibraryCheck};
use twinfer_case::{Libraries, LibraryFileInfo, LibraryInfo, RunInfo};

use crate::{actor::role::Role, setup::against};

#[test]
fn damaged_library_ends_campaign_before_its_first_case() {
    let mut campaign = against(Role::Honest, 5);
    campaign.options.libraries = LibraryCheck::start(|| Err("libx.so is not the file".to_owned()));
    let error = campaign.try_run().err();
    assert!(matches!(&error, Some(CampaignError::Library(message)) if message == "libx.so is not the file"));
    assert!(!campaign.out.join("run.json").exists());
    let journal = std::fs::read_to_string(campaign.out.join("journal.jsonl")).unwrap_or_default();
    assert_eq!(journal, "", "a case was recorded");
}

#[test]
fn run_records_the_libraries_that_were_verified() {
    let library = LibraryInfo {
        name: "onnxruntime".to_owned(),
        version: "1.31.1".to_owned(),
        files: vec![LibraryFileInfo { name: "libx.so".to_owned(), bytes: 3, sha256: "ab".repeat(32) }],
    };
    let mut campaign = against(Role::Honest, 5);
    let verified = library.clone();
    campaign.options.libraries =
        LibraryCheck::start(move || Ok(Libraries::from_iter([("ort:cpu".parse().unwrap(), verified)])));
    campaign.run();
    let run = std::fs::read(campaign.out.join("run.json")).unwrap();
    let run: RunInfo = serde_json::from_slice(&run).unwrap();
    assert_eq!(run.libraries, [library]);
}
