use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender};

use crate::{
    escalation_thread::EscalationThread,
    generator::Generator,
    judging::Judge,
    stage_event::{EventSender, StageEvent},
    stages::{Escalation, ExecutedCase},
};

/// What the threads do that prepare, judge and escalate cases. Each takes work from the queue of its stage until the dispatcher has dropped the
/// other end, and sends the dispatcher what became of it.
pub struct StageThreads<'a> {
    pub generator: Generator,
    pub judge: Judge<'a>,
    pub escalation: EscalationThread<'a>,
}

/// The ends of the queues from which the threads take work.
pub struct StageQueues {
    /// Indices of cases to generate.
    pub indices: Receiver<u64>,
    /// Cases to judge.
    pub executed: Receiver<ExecutedCase>,
    /// Cases to run at stronger options, by [lane](crate::escalation_thread::EscalationQueue).
    pub escalations: [Receiver<Escalation>; 2],
}

/// How many threads each stage has.
#[derive(Clone, Copy)]
pub struct StageSizes {
    /// Threads that generate, and as many that judge.
    pub jobs: usize,
    /// Threads of each lane of cases to escalate.
    pub escalations: usize,
}

impl<'env> StageThreads<'env> {
    /// Starts the threads. They alone hold what they take work from, so that they end when the dispatcher does.
    pub fn spawn<'scope>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        queues: StageQueues,
        sizes: StageSizes,
        events: &Sender<StageEvent>,
    ) {
        let Self { generator, judge, escalation } = self;
        let StageQueues { indices, executed, escalations } = queues;
        let sender = || EventSender::new(events.clone());
        for _ in 0..sizes.jobs {
            let (generator, indices, events) = (generator.clone(), indices.clone(), sender());
            scope.spawn(move || generator.run(&indices, &events));
        }
        for _ in 0..sizes.jobs {
            let (executed, events) = (executed.clone(), sender());
            scope.spawn(move || judge.run(&executed, &events));
        }
        for escalations in escalations {
            for _ in 0..sizes.escalations {
                let (escalations, events) = (escalations.clone(), sender());
                scope.spawn(move || escalation.run(&escalations, &events));
            }
        }
    }
}
