//! Findings that run again under a stand-in for NVIDIA's compute-sanitizer.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use twinfer_case::{MemoryMode, Outcome, TrustedVariant, Variant};
use twinfer_targets::{Sanitizer, SanitizerTool, TargetError};
use twinfer_workers::WorkerError;

use crate::{
    actor::role::Role,
    setup::{Outcome as CampaignOutcome, TestCampaign, against},
};

/// Reports an error if the tool is memcheck, once the program has ended.
const REPORTING: &str = r#"#!/bin/sh
tool=$2 log=$4; shift 4
"$@"; code=$?
echo "========= COMPUTE-SANITIZER" >"$log"
test "$tool" = initcheck || echo "========= Invalid __global__ write of size 4 bytes" >>"$log"
test "$tool" = initcheck && errors=0 || errors=1
echo "========= ERROR SUMMARY: $errors errors" >>"$log"
exit $code
"#;

/// A campaign with a finding, and the program that stands in for the sanitizer.
struct Scene {
    campaign: TestCampaign,
    outcome: CampaignOutcome,
    sanitizer: Sanitizer,
}

impl Scene {
    fn new(script: &str) -> Self {
        let mut campaign = against(Role::IgnoresBias, 30);
        campaign.options.variants = vec![cuda(MemoryMode::Keep)];
        campaign.options.worker.args = vec![Role::IgnoresBias.to_string()];
        campaign.options.poison_every = None;
        let outcome = campaign.run();
        let program = campaign.shared("sanitizer");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { campaign, outcome, sanitizer: Sanitizer::new(program) }
    }

    fn finding(&self) -> PathBuf {
        self.outcome.out.join("findings").join(self.outcome.findings()[0].signature.slug())
    }
}

fn cuda(memory: MemoryMode) -> TrustedVariant {
    TrustedVariant::vouch("ort:cuda".parse::<Variant>().unwrap().with_memory(memory))
}

#[test]
fn case_runs_under_each_tool_with_memory_off() {
    let scene = Scene::new(REPORTING);
    let variants = [cuda(MemoryMode::Keep), cuda(MemoryMode::Attributes)];
    let worker = &scene.campaign.options.worker;
    let reports = scene.sanitizer.replay(&scene.finding(), &variants, worker).unwrap();
    let said: Vec<_> = reports.iter().map(|report| (report.tool, report.errors)).collect();
    assert_eq!(said, [(SanitizerTool::Memcheck, Some(1)), (SanitizerTool::Initcheck, Some(0))]);
    assert_eq!(
        reports[0].lines[..2],
        ["COMPUTE-SANITIZER", "Invalid __global__ write of size 4 bytes"].map(str::to_owned)
    );
    for report in reports {
        assert_eq!(report.variant.memory(), Some(MemoryMode::Off));
        assert_eq!(report.observation.expect("the case ran").outcome, Outcome::Ok);
    }
}

#[test]
fn sanitizer_that_starts_no_worker_is_an_error() {
    let scene = Scene::new("#!/bin/sh\necho 'Device not supported' >&2; exit 1\n");
    let worker = &scene.campaign.options.worker;
    let refused = scene.sanitizer.replay(&scene.finding(), &[cuda(MemoryMode::Keep)], worker).unwrap_err();
    assert!(matches!(refused, TargetError::Worker(WorkerError::Worker { .. })), "{refused}");
    assert!(refused.to_string().contains("Device not supported"), "{refused}");
}

#[test]
fn sanitizer_without_a_report_is_an_error() {
    let scene = Scene::new("#!/bin/sh\nshift 4; exec \"$@\"\n");
    let worker = &scene.campaign.options.worker;
    let refused = scene.sanitizer.replay(&scene.finding(), &[cuda(MemoryMode::Keep)], worker).unwrap_err();
    assert!(matches!(refused, TargetError::Sanitizer(_)), "{refused}");
}
