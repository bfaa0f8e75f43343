//! Campaigns against worker processes that behave, misbehave and are killed.
//!
//! This binary is its own worker: an *actor* (actor.rs) answers as golden does but for the mistakes that its role asks
//! for, so that nothing needs to be installed. Tests that need ONNX Runtime or Python say so when they are skipped.
//! `TWINFER_FULL=1` runs the full tier.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

#[path = "actor/main.rs"]
mod actor;
#[path = "actor/defects.rs"]
mod defects;
mod determinism;
mod devices;
mod faults;
mod findings;
mod ladder;
mod real_backends;
mod setup;
mod slow_backend;

use libtest_mimic::{Arguments, Trial};

fn main() {
    twinfer_worker::become_worker_if_asked();
    actor::become_actor_if_asked();
    let trial = |name: &str, test: fn()| {
        Trial::test(name.to_owned(), move || {
            test();
            Ok(())
        })
    };
    let tests = vec![
        trial("one_job_and_two_jobs_leave_the_same_record", determinism::one_job_and_two_jobs),
        trial("many_findings_are_the_same_however_many_are_investigated_at_once", determinism::many_findings),
        trial("two_shards_share_the_cases_of_one_campaign", determinism::two_shards),
        trial("a_campaign_that_is_stopped_records_a_prefix_of_the_same_cases", determinism::stopped),
        trial("a_campaign_that_was_killed_goes_on_to_the_same_record", determinism::resumed),
        trial("killing_workers_changes_no_verdict_and_loses_no_case", faults::killed_workers),
        trial("injected_faults_change_no_verdict_and_no_finding", faults::injected_faults),
        trial("a_crash_is_a_finding_and_the_campaign_goes_on", faults::crash),
        trial("a_hang_is_a_finding_and_the_campaign_goes_on", faults::hang),
        trial("a_campaign_that_is_stopped_does_not_wait_for_a_hang", faults::stopped_in_a_hang),
        trial("a_lost_context_costs_its_worker_and_no_other_case", faults::lost_context),
        trial("a_worker_that_holds_ever_more_is_replaced_and_nothing_else_changes", faults::outgrown),
        trial("of_workers_that_want_a_device_alone_one_is_busy_there", faults::device_alone),
        trial("work_is_spread_evenly_over_devices", devices::spread),
        trial("a_device_that_fails_is_given_up_and_changes_no_verdict", devices::one_off_the_bus),
        trial("where_no_device_is_left_the_campaign_fails_and_can_be_resumed", devices::all_off_the_bus),
        trial("workers_are_hired_while_cases_wait_and_there_is_room", devices::hired_as_needed),
        trial("a_garbled_pipe_is_a_crash_and_the_campaign_goes_on", faults::garbled_pipe),
        trial("a_stage_that_is_entered_again_and_again_ends_the_worker", faults::stage_without_end),
        trial("a_worker_that_does_not_start_is_an_error_that_says_why", faults::no_worker),
        trial("a_fault_of_the_harness_is_no_verdict", faults::harness_fault),
        trial("wrong_values_become_a_minimal_finding_with_its_files", findings::wrong_values),
        trial("what_needs_its_history_to_go_wrong_is_state_dependent", findings::state_dependent),
        trial("what_comes_and_goes_is_not_looked_for_for_long", devices::comes_and_goes),
        trial("investigations_start_no_more_workers_than_they_have_hands", devices::no_more_than_hands),
        trial("what_differs_from_time_to_time_is_nondeterministic", findings::nondeterministic),
        trial("one_bug_is_not_minimised_into_another", findings::two_bugs),
        trial("what_hides_behind_what_nothing_explains_is_looked_into_now_and_then", findings::veiled),
        trial("a_known_finding_is_counted_and_not_new", findings::known),
        trial("a_finding_replays_until_the_backend_changes", findings::replay),
        trial("a_bug_of_an_upper_rung_is_found_there_and_made_smaller", ladder::bug_above),
        trial("what_shows_below_a_rung_is_not_investigated_on_it", ladder::same_below),
        trial("which_cases_climb_depends_on_no_number_of_jobs", ladder::one_job_and_two_jobs),
        trial("suspects_climb_unless_they_are_known", ladder::suspects),
        trial("shards_climb_as_the_whole_campaign_does", ladder::shards),
        trial("a_campaign_with_a_ladder_goes_on_to_the_same_record", ladder::resumed),
        trial("what_time_allows_climbs", ladder::time),
        trial("rungs_that_want_their_device_alone_take_turns", ladder::device_alone),
        trial("a_ladder_where_there_is_nothing_above_is_an_error", ladder::nothing_above),
        trial("a_planted_bug_is_found_and_comes_down_to_one_node", real_backends::swapped_pads),
        trial(
            "weight_scales_along_axis_1_are_found_to_confuse_onnx_runtime",
            real_backends::weight_scales_along_axis_1,
        ),
        trial(
            "what_was_not_investigated_before_time_was_up_is_said_and_resumed_first",
            slow_backend::out_of_time,
        ),
        trial("a_slow_backend_with_many_bugs_takes_what_its_cases_take", slow_backend::slow_backend)
            .with_ignored_flag(true),
        trial("onnx_runtime_from_rust_and_from_python_conform", real_backends::onnx_runtime),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}
