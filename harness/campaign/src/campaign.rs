use std::{num::NonZero, sync::Arc, thread};

use crossbeam_channel::{bounded, unbounded};
use twinfer_case::{
    BackendName, Event, JOURNAL_FORMAT, Ladder, Libraries, RunEnd, RunInfo, Summary, TrustedVariant,
    VariantInfo,
};
use twinfer_store::{Journal, Records, Resumed, RunDirectory, Start, machine, now, record_end, run_id};
use twinfer_triage::{Catalog, Dedup, Findings, Investigator, TriageError};
use twinfer_workers::{
    Autoscaler, Capacity, DevicePools, HostContext, Outbox, TriageWorkers, VariantWorkers, WorkerProcess,
    memory,
};

use crate::{
    CampaignError, CaseSource, Options, Scaling,
    admission::{Admission, Earlier},
    dispatcher::Dispatcher,
    escalation_policy::{EscalationPolicy, Rule},
    escalation_thread::{EscalationQueue, EscalationThread},
    event_log,
    first_workers::{FirstWorkers, device_use},
    generator::Generator,
    hang_forecast::HangForecast,
    judging::Judge,
    run_state::RunState,
    rung::Rung,
    source::{NEIGHBORS, generated},
    stage_event::EventSender,
    triage_queue::{Limits, Order, Resources, TriageQueue},
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
        let run = self.run_info(&first, &libraries)?;
        let variants = self.pools.len();
        let forecast = HangForecast::new(Arc::clone(&self.source), &self.options, variants);
        let (state, earlier, known, run) = self.open_run(directory, run, libraries, &forecast)?;
        for (variant, worker) in first.all(&self.pools) {
            sink(&Event::WorkerStarted { variant: variant.clone(), millis: worker.start_millis() });
        }
        sink(&Event::CampaignStarted { run: run.clone() });
        for (slug, finding) in state.findings.ours() {
            sink(&Event::FindingRestored { slug: slug.to_owned(), finding: finding.clone() });
        }
        let mut workforce = Vec::new();
        let ended = self.dispatch(first, &run.variants, (&known, forecast), (state, earlier), &mut |event| {
            if let Event::WorkforceChanged { workforce: now } = event {
                workforce.clone_from(now);
            }
            sink(event);
        });
        self.pools.iter().flat_map(|pools| pools.newly_given_up()).for_each(|event| sink(&event));
        let (summary, end) = match ended.map_err(|error| self.no_device_left(error)) {
            Ok(ended) => ended,
            Err(error) => {
                // the error counts, not that the disk may be full
                let _ = record_end(directory, workforce, RunEnd::Failed(error.to_string()));
                return Err(error);
            }
        };
        record_end(directory, workforce, end.clone())?;
        sink(&Event::CampaignFinished { summary: summary.clone(), end });
        Ok(summary)
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

    /// Creates the run on disk, or opens the one that is to be resumed; with the findings that were known before it, and the run as
    /// it was begun.
    fn open_run(
        &self,
        directory: &RunDirectory,
        run: RunInfo,
        libraries: Libraries,
        forecast: &HangForecast,
    ) -> Result<(RunState, Earlier, Catalog, RunInfo), CampaignError> {
        let mut findings = Findings::open(directory, &self.options.known, libraries)?;
        let known = findings.catalog().clone();
        match directory.start() {
            Start::New => {
                let journal = Journal::create(directory, &run)?;
                let state = RunState::new(journal, findings, Summary::new(&run.variants));
                Ok((state, Earlier::default(), known, run))
            }
            Start::Resumed => {
                let resumed = Journal::resume(directory, &run, &|slug| findings.stored(slug))?;
                let Resumed { run, journal, summary, mut settled, reduced, open, missing } = resumed;
                findings.resume(&summary, &settled, &reduced)?;
                for record in Records::open(directory.path(), &run)? {
                    let record = record?;
                    if !open.contains_key(&record.index) {
                        forecast.add(&record);
                    }
                }
                (settled.new_findings, settled.earlier) = (findings.new_findings(), settled.cases);
                let reached = summary.cases + missing.len() as u64;
                let mut unsettled: Vec<_> = open.keys().copied().chain(missing).collect();
                unsettled.sort_unstable();
                let state = RunState::new(journal, findings, settled).with_open(open);
                Ok((state, Earlier { unsettled, reached }, known, run))
            }
        }
    }

    /// Starts the threads of every stage and runs the dispatcher over them.
    fn dispatch(
        &self,
        first: FirstWorkers,
        variants: &[VariantInfo],
        (known, forecast): (&Catalog, HangForecast),
        (state, earlier): (RunState, Earlier),
        sink: &mut dyn FnMut(&Event),
    ) -> Result<(Summary, RunEnd), CampaignError> {
        let jobs = self.options.jobs.get();
        let (index_sender, indices) = unbounded();
        let (executed_sender, executed) = unbounded();
        let (event_sender, events) = unbounded();
        let (escalation_queue, escalations) = EscalationQueue::new();
        let (queues, items): (Vec<_>, Vec<_>) = self.pools.iter().map(|_| unbounded()).unzip();
        let sender = || EventSender::new(event_sender.clone());
        let (oracle, forecast) = (&self.options.oracle, Arc::new(forecast));
        let bases = variants.iter().filter(|info| info.rung_of.is_none());
        let generator = Generator {
            source: Arc::clone(&self.source),
            oracle: Arc::clone(oracle),
            arithmetics: bases.map(|info| info.description.arithmetic).collect(),
            forecast: Arc::clone(&forecast),
            queues,
            repeat_every: self.options.repeat_every,
        };
        let FirstWorkers { executors, rungs } = first;
        let escalation_threads = if rungs.is_empty() { 0 } else { self.escalation_threads() };
        let triage_workers = &self.triage_workers(variants, rungs);
        let dedup = Dedup::default();
        dedup.update(state.catalog());
        let rule = self.options.ladder.map(|ladder| match ladder {
            Ladder::Sample(every) => Rule::sample(every, known),
            Ladder::Time(part) => Rule::time(part, 2 * escalation_threads as u64, &state.summary, &dedup),
        });
        let policy = &EscalationPolicy::new(rule, self.options.poison_every, self.options.seed, variants);
        let judge = Judge {
            variants: triage_workers,
            escalation: policy,
            fresh_every: self.options.fresh_every,
            scrutiny: self.options.scrutiny,
        };
        let escalation_thread = EscalationThread { variants: triage_workers, policy };
        let investigator = Investigator::new(oracle, &self.source, self.options.minimize)
            .with_neighbors(self.options.experiments.then(|| &*NEIGHBORS));
        let resources = Resources { host: &self.host, variants: triage_workers, investigator, dedup: &dedup };
        let of_variant = |((pools, items), workers): ((&Arc<DevicePools>, _), &Vec<WorkerProcess>)| {
            VariantWorkers::new(Arc::clone(pools), items, device_use(workers))
        };
        let scaled = self.pools.iter().zip(items).zip(&executors).map(of_variant).collect();
        let capacity = Some(self.capacity).filter(|_| self.options.scaling == Scaling::AsNeeded);
        self.host.begin_cases();
        thread::scope(|scope| {
            let to_dispatcher = event_sender.clone();
            let outbox = Outbox::new(move |message| drop(to_dispatcher.send(message.into())));
            let autoscaler = Autoscaler::new(scope, scaled, capacity, outbox);
            autoscaler.start_executors(executors);
            let (_until_the_end, over) = bounded(0);
            scope.spawn(move || autoscaler.run(&over));
            for _ in 0..jobs {
                let (generator, indices, events) = (generator.clone(), indices.clone(), sender());
                scope.spawn(move || generator.run(&indices, &events));
            }
            for _ in 0..jobs {
                let (executed, events) = (executed.clone(), sender());
                scope.spawn(move || judge.run(&executed, &events));
            }
            for _ in 0..escalation_threads {
                let (escalations, events) = (escalations.clone(), sender());
                scope.spawn(move || escalation_thread.run(&escalations, &events));
            }
            // only the threads hold these now, so that they end when the dispatcher does
            drop((generator, indices, executed, escalations));
            let at_once = self.options.investigations.get();
            let at_once_alone = at_once.max(jobs / 2);
            let (patience, order) = (self.options.patience(), Order::of(self.options.budget));
            let limits = Limits { at_once, at_once_alone, patience, order };
            let triage = TriageQueue::new(scope, resources, event_sender.clone(), limits);
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

    /// The workers of all variants that run single cases, those of rungs behind the others.
    fn triage_workers(&self, variants: &[VariantInfo], rungs: Vec<Rung>) -> Vec<TriageWorkers> {
        let of_variant = |(info, pools): (&VariantInfo, &Arc<DevicePools>)| {
            TriageWorkers::new(info.clone(), Arc::clone(pools), self.options.investigations)
                .confirming_without_kept_memory()
        };
        let bases = variants.iter().zip(&self.pools).map(of_variant);
        bases.chain(Rung::triage_workers(rungs, &self.options)).collect()
    }

    /// How many cases are escalated at once: fewer than run, since few of them are.
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
            budget: self.options.budget,
            shard: self.options.shard,
            jobs: self.options.jobs.get(),
            ladder: self.options.ladder,
            variants: bases.chain(first.rungs.iter().map(Rung::info)).collect(),
            libraries: libraries.each_once(),
            settings: Some(self.options.settings()?),
            machine: machine(),
            workforce: Vec::new(),
            end: None,
            started: now(),
            merged: Vec::new(),
            resumed: Vec::new(),
            journal: None,
            revisited: None,
        })
    }
}
