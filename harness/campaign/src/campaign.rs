use std::{num::NonZero, sync::Arc, thread, time::Duration};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use twinfer_case::{
    BackendName, Budget, Event, JOURNAL_FORMAT, Ladder, Libraries, RunEnd, RunInfo, SameConfiguration,
    Summary, TrustedVariant, VariantInfo,
};
use twinfer_store::{RunDirectory, RunEnded, machine, now, record_end, run_id};
use twinfer_triage::{Dedup, Investigator, TriageError};
use twinfer_workers::{
    Autoscaler, Capacity, DevicePools, HostContext, Outbox, TriageWorkers, VariantWorkers, WorkItem,
    WorkerProcess, memory,
};

use crate::{
    CampaignError, CaseSource, Configurations, Options, Scaling,
    admission::Admission,
    dispatcher::Dispatcher,
    escalation_policy::{EscalationPolicy, Rule},
    escalation_thread::{EscalationQueue, EscalationThread},
    event_log,
    first_workers::{FirstWorkers, device_use},
    generator::Generator,
    hang_forecast::HangForecast,
    judging::Judge,
    opened_run::OpenedRun,
    rung::Rung,
    source::{NEIGHBORS, generated},
    stage_threads::{StageQueues, StageSizes, StageThreads},
    triage_queue::{Limits, Order, ProcessorShare, Resources, TriageQueue},
};

/// A run over many cases with a budget, a journal and a set of findings.
pub struct Campaign {
    options: Options,
    source: CaseSource,
    host: HostContext,
    /// One per variant that runs every case.
    pools: Vec<Arc<DevicePools>>,
    capacity: Capacity,
}

/// Spares of each variant that runs every case.
const SPARES: usize = 1;
/// If cases run on devices, one core in this many is left to workers that start or investigate.
const CORES_LEFT: usize = 4;
/// Executors of a variant for each case that is escalated at once.
const EXECUTORS_PER_ESCALATION: usize = 4;

impl Campaign {
    /// A campaign with these options.
    ///
    /// # Errors
    ///
    /// If a family is unknown, or no backend besides golden is named. Nothing is started yet.
    pub fn new(options: Options) -> Result<Self, CampaignError> {
        let source = match &options.source {
            Some(source) => Arc::clone(source),
            None => generated(&options.families, options.distribution, options.seed)?,
        };
        let host = HostContext::start().with_device_workers(options.device_workers);
        let pool_options = options.pools();
        let subjects = options.variants.iter().filter(|variant| variant.backend != BackendName::Golden);
        let pools_of =
            |variant: &TrustedVariant| Arc::new(DevicePools::new(variant, &pool_options, &host, SPARES));
        let pools: Vec<_> = subjects.map(pools_of).collect();
        if pools.is_empty() {
            return Err(CampaignError::NoBackend);
        }
        // the other half of the memory is for golden, spares and workers that investigate
        let capacity = Capacity {
            per_variant: options.jobs.get(),
            on_devices: options.jobs.get() - options.jobs.get() / CORES_LEFT,
            memory: memory::available().map(|bytes| bytes / 2),
            per_device: options.device_workers.map(NonZero::get),
        };
        Ok(Self { options, source, host, pools, capacity })
    }

    /// Runs the campaign to the end of its budget, or the rest of it if `directory` was claimed to resume it, and reports what
    /// happens to `sink`.
    ///
    /// With deterministic backends, a budget of cases and no ladder of time, the result is a function of the options without
    /// `jobs`, except for timings, the effort of investigations, and the events about workers.
    ///
    /// # Errors
    ///
    /// If a library is not as it was installed, no worker of a variant starts, a worker reports a fault, or the run directory cannot be written.
    pub fn run(
        self,
        directory: &RunDirectory,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, CampaignError> {
        let sink: &mut dyn FnMut(&Event) = &mut |event| {
            event_log::log(event);
            sink(event);
        };
        let first = FirstWorkers::start(&self.pools, &self.options, self.capacity, &self.host);
        // first, because a worker may have failed to start for this reason
        let libraries = self.options.libraries.wait()?;
        let first = first?;
        if self.options.configurations == Configurations::Differ {
            self.check_configurations(&first, &libraries)?;
        }
        let run = self.run_info(&first, &libraries)?;
        let variants = self.pools.len();
        let forecast = HangForecast::new(Arc::clone(&self.source), &self.options, variants);
        let opened = OpenedRun::new(directory, run, libraries, &self.options, &forecast)?;
        for (variant, worker) in first.all(&self.pools) {
            sink(&Event::WorkerStarted { variant: variant.clone(), millis: worker.start_millis() });
        }
        sink(&Event::CampaignStarted { run: opened.run.clone() });
        for (slug, finding) in opened.state.findings.ours() {
            sink(&Event::FindingRestored { slug: slug.to_owned(), finding: finding.clone() });
        }
        let mut workforce = Vec::new();
        let ended = self.dispatch(first, opened, Arc::new(forecast), &mut |event| {
            if let Event::WorkforceChanged { workforce: now } = event {
                workforce.clone_from(now);
            }
            sink(event);
        });
        self.pools.iter().flat_map(|pools| pools.newly_given_up()).for_each(|event| sink(&event));
        let processor = self.host.processor_use_in_the_end();
        sink(&Event::WorkersEnded { processor });
        let (summary, end) = match ended.map_err(|error| self.no_device_left(error)) {
            Ok(ended) => ended,
            Err(error) => {
                let end = RunEnd::Failed(error.to_string());
                let failed = RunEnded { end, totals: None, workforce, processor: Some(processor) };
                // the error counts, not that the disk may be full
                let _ = record_end(directory, failed);
                return Err(error);
            }
        };
        let totals = Some(summary.totals());
        let ended = RunEnded { end: end.clone(), totals, workforce, processor: Some(processor) };
        record_end(directory, ended)?;
        sink(&Event::CampaignFinished { summary: summary.clone(), end });
        Ok(summary)
    }

    fn check_configurations(&self, first: &FirstWorkers, libraries: &Libraries) -> Result<(), CampaignError> {
        let described = first.described(&self.pools);
        let described: Vec<_> =
            described.iter().map(|&(variant, description)| (&**variant, description)).collect();
        SameConfiguration::find(&described, libraries).map_or(Ok(()), |same| Err(same.into()))
    }

    /// What a failure of a worker means if no device of a variant is left.
    fn no_device_left(&self, error: CampaignError) -> CampaignError {
        let lost = self.pools.iter().find(|pools| pools.has_lost_all_devices());
        match (lost, error) {
            (
                Some(pools),
                error @ (CampaignError::Worker(_) | CampaignError::Triage(TriageError::Worker(_))),
            ) => CampaignError::NoDeviceLeft { variant: pools.variant().clone(), error: Box::new(error) },
            (_, error) => error,
        }
    }

    /// Starts the threads of every stage and runs the dispatcher over them.
    fn dispatch(
        &self,
        first: FirstWorkers,
        opened: OpenedRun,
        forecast: Arc<HangForecast>,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(Summary, RunEnd), CampaignError> {
        let FirstWorkers { executors, rungs } = first;
        let variants = &opened.run.variants;
        let (index_sender, indices) = unbounded();
        let (executed_sender, executed) = unbounded();
        let (event_sender, events) = unbounded();
        let (escalation_queue, escalations) = EscalationQueue::new();
        let (queues, items): (Vec<_>, Vec<_>) = self.pools.iter().map(|_| unbounded()).unzip();
        let sizes = StageSizes {
            jobs: self.options.jobs.get(),
            escalations: if rungs.is_empty() { 0 } else { self.escalation_threads() },
        };
        let triage_workers = &self.triage_workers(variants, rungs);
        let dedup = &Dedup::default();
        dedup.update(opened.state.catalog());
        let rule = self.escalation_rule(&opened, dedup, sizes.escalations);
        let policy = &EscalationPolicy::new(rule, self.options.poison_every, self.options.seed, variants);
        let stages = StageThreads {
            generator: self.generator(variants, &forecast, queues),
            judge: Judge {
                variants: triage_workers,
                escalation: policy,
                fresh_every: self.options.fresh_every,
                scrutiny: self.options.scrutiny,
            },
            escalation: EscalationThread { variants: triage_workers, policy },
        };
        let resources = self.resources(triage_workers, dedup);
        let scaled = self.scaled_workers(items, &executors);
        let OpenedRun { state, earlier, .. } = opened;
        self.host.begin_cases();
        thread::scope(|scope| {
            let to_dispatcher = event_sender.clone();
            let outbox = Outbox::new(move |message| drop(to_dispatcher.send(message.into())));
            let capacity = Some(self.capacity).filter(|_| self.options.scaling == Scaling::AsNeeded);
            let autoscaler = Autoscaler::new(scope, scaled, capacity, outbox);
            autoscaler.start_executors(executors);
            let (_until_the_end, over) = bounded(0);
            scope.spawn(move || autoscaler.run(&over));
            stages.spawn(scope, StageQueues { indices, executed, escalations }, sizes, &event_sender);
            let triage = TriageQueue::new(scope, resources, event_sender.clone(), self.triage_limits());
            let admission = Admission::new(&self.options, index_sender, earlier);
            let dispatcher = Dispatcher::new(
                triage_workers,
                admission,
                executed_sender,
                escalation_queue,
                triage,
                forecast,
                state,
            );
            let ended = dispatcher.run(&events, sink);
            // what is still under way is no part of the campaign, and may take as long as its deadline
            self.host.kill_workers();
            ended
        })
    }

    /// What generates cases, with the queues of the variants that run every case.
    fn generator(
        &self,
        variants: &[VariantInfo],
        forecast: &Arc<HangForecast>,
        queues: Vec<Sender<WorkItem>>,
    ) -> Generator {
        let bases = variants.iter().filter(|info| info.rung_of.is_none());
        Generator {
            source: Arc::clone(&self.source),
            oracle: Arc::clone(&self.options.oracle),
            arithmetics: bases.map(|info| info.description.arithmetic).collect(),
            forecast: Arc::clone(forecast),
            queues,
            repeat_every: self.options.repeat_every,
        }
    }

    /// Which cases run at stronger options too; `None` if none does.
    fn escalation_rule<'a>(&self, opened: &OpenedRun, dedup: &'a Dedup, threads: usize) -> Option<Rule<'a>> {
        self.options.ladder.map(|ladder| match ladder {
            Ladder::Sample(every) => Rule::sample(every, &opened.known),
            Ladder::Time(part) => Rule::time(part, 2 * threads as u64, &opened.state.summary, dedup),
        })
    }

    /// What investigations use.
    fn resources<'a>(&'a self, variants: &'a [TriageWorkers], dedup: &'a Dedup) -> Resources<'a> {
        let neighbors = self.options.experiments.then(|| &*NEIGHBORS);
        let investigator = Investigator::new(&self.options.oracle, &self.source, self.options.minimize);
        let investigator = investigator.with_neighbors(neighbors);
        Resources { host: &self.host, variants, investigator, dedup }
    }

    fn triage_limits(&self) -> Limits {
        let at_once = self.options.investigations.get();
        Limits {
            at_once,
            at_once_alone: at_once.max(self.options.jobs.get() / 2),
            patience: self.options.patience(),
            order: Order::of(self.options.budget),
            share: self.processor_share(),
        }
    }

    /// The processor time that investigations may take beside cases. A budget of cases is spent in the end, whatever they take.
    fn processor_share(&self) -> Option<ProcessorShare> {
        let Budget::Seconds(seconds) = self.options.budget else { return None };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Some(ProcessorShare::new(Duration::from_secs(seconds), cores))
    }

    /// The variants that run every case, as the autoscaler adds workers to them.
    fn scaled_workers(
        &self,
        items: Vec<Receiver<WorkItem>>,
        executors: &[Vec<WorkerProcess>],
    ) -> Vec<VariantWorkers> {
        let variants = self.pools.iter().zip(items).zip(executors);
        variants
            .map(|((pools, items), workers)| {
                VariantWorkers::new(Arc::clone(pools), items, device_use(workers))
            })
            .collect()
    }

    /// The workers of all variants that run single cases, those of rungs behind the others.
    fn triage_workers(&self, variants: &[VariantInfo], rungs: Vec<Rung>) -> Vec<TriageWorkers> {
        let of_variant = |(info, pools): (&VariantInfo, &Arc<DevicePools>)| {
            TriageWorkers::new(info.clone(), Arc::clone(pools), self.options.investigations)
                .confirming_without_kept_memory()
        };
        let bases = variants.iter().zip(&self.pools).map(of_variant);
        bases.chain(Rung::triage_workers(rungs, &self.options)).collect()
    }

    /// How many cases are escalated at once in each lane: fewer than run, since few of them are.
    fn escalation_threads(&self) -> usize {
        let threads = self.options.jobs.get().div_ceil(EXECUTORS_PER_ESCALATION);
        threads.max(self.options.devices.len()).min(self.options.most_on_a_rung().get())
    }

    fn run_info(&self, first: &FirstWorkers, libraries: &Libraries) -> Result<RunInfo, CampaignError> {
        let bases = first.described(&self.pools).into_iter().map(|(variant, description)| VariantInfo {
            variant: variant.clone().into_inner(),
            description: description.clone(),
            rung_of: None,
        });
        Ok(RunInfo {
            format: JOURNAL_FORMAT,
            id: run_id(),
            twinfer: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.options.seed,
            distribution: self.options.distribution,
            families: self.options.families.clone(),
            checked: self.options.checked.clone(),
            budget: self.options.budget,
            shard: self.options.shard,
            jobs: self.options.jobs.get(),
            ladder: self.options.ladder,
            variants: bases.chain(first.rungs.iter().map(Rung::info)).collect(),
            libraries: libraries.each_once(),
            settings: Some(self.options.settings()?),
            machine: machine(),
            workforce: Vec::new(),
            processor: None,
            totals: None,
            recognized: Vec::new(),
            end: None,
            started: now(),
            merged: Vec::new(),
            resumed: Vec::new(),
            journal: None,
            revisited: None,
        })
    }
}
