use std::{num::NonZero, sync::Arc, thread};

use crossbeam_channel::{bounded, unbounded};
use twinfer_case::{
    BackendName, Description, DeviceUse, Event, JOURNAL_FORMAT, Ladder, RunInfo, Summary, Variant,
    VariantInfo,
};
use twinfer_store::{Journal, OpenCases, Resumed, machine, now, record_workforce};
use twinfer_triage::{Catalog, Dedup, Findings, Investigator};
use twinfer_workers::{
    Autoscaler, Capacity, DevicePools, HostContext, Outbox, SpareRequest, TriageWorkers, VariantWorkers,
    WorkerProcess, memory, start_all,
};

use crate::{
    CampaignError, CaseSource, Options, Scaling,
    admission::Admission,
    dispatcher::{Dispatcher, RunState},
    escalation_policy::{EscalationPolicy, Rule},
    escalation_thread::{EscalationThread, Queue},
    generator::Generator,
    judging::Judge,
    rung::Rung,
    source::generated,
    stage_event::EventSender,
    triage_queue::{Limits, Resources, TriageQueue},
};

/// A run over many cases with a budget, a journal and a set of findings.
pub struct Campaign {
    options: Options,
    source: CaseSource,
    ground: HostContext,
    sites: Vec<Arc<DevicePools>>,
    /// What there is for workers.
    means: Capacity,
}

/// The workers that a campaign begins with.
struct Opening {
    /// A worker for every lane of every variant that runs every case.
    lanes: Vec<Vec<WorkerProcess>>,
    rungs: Vec<Rung>,
}

/// Workers of each variant that stand by.
const SPARES: usize = 1;
/// Lanes of a variant that are likely to be wanted on each device once its first worker has run a case, where starting one takes
/// long.
const LANES_SOON: usize = 4;
/// One core in this many is left to workers that start or investigate, where cases are run on devices.
const CORES_LEFT: usize = 4;
/// Lanes of a variant for each case that climbs at once.
const LANES_A_CLIMBER: usize = 4;

impl Campaign {
    /// Checks what can be checked before anything is started.
    pub fn new(options: Options) -> Result<Self, CampaignError> {
        let source = match &options.source {
            Some(source) => Arc::clone(source),
            None => generated(&options.families, options.seed)?,
        };
        let ground = HostContext::start();
        let subjects = options.variants.iter().filter(|variant| variant.backend != BackendName::Golden);
        let pools = options.pools();
        let site = |variant: &Variant| Arc::new(DevicePools::new(variant, &pools, &ground, SPARES));
        let sites: Vec<_> = subjects.map(site).collect();
        if sites.is_empty() {
            return Err(CampaignError::NoBackend);
        }
        // the other half is golden's, and that of workers that stand by or investigate
        let means = Capacity {
            per_variant: options.jobs.get(),
            on_devices: options.jobs.get() - options.jobs.get() / CORES_LEFT,
            memory: memory::available().map(|bytes| bytes / 2),
            per_device: options.device_workers.map(NonZero::get),
        };
        Ok(Self { options, source, ground, sites, means })
    }

    /// Runs it to the end of its budget and tells `sink` what happens.
    ///
    /// With deterministic backends, a budget of cases and no ladder of time, everything but timings, the effort of
    /// investigations and the events about workers is a function of the options without `jobs`.
    pub fn run(self, sink: &mut dyn FnMut(&Event)) -> Result<Summary, CampaignError> {
        let opening = self.start_workers()?;
        let run = self.run_info(&opening);
        let mut findings = Findings::open(&self.options.out, &self.options.known)?;
        let known = findings.catalog().clone();
        let (journal, summary, open) = if self.options.resume {
            let Resumed { journal, summary, mut settled, open } = Journal::resume(&self.options.out, &run)?;
            findings.resume(&summary)?;
            (settled.new_findings, settled.earlier) = (findings.new_findings(), settled.cases);
            (journal, settled, open)
        } else {
            (Journal::create(&self.options.out, &run)?, Summary::new(&run.variants), OpenCases::new())
        };
        for (variant, worker) in self.started(&opening) {
            sink(&Event::WorkerStarted { variant: variant.clone(), millis: worker.start_millis() });
        }
        sink(&Event::CampaignStarted { run: run.clone() });
        for (slug, finding) in findings.ours() {
            sink(&Event::FindingRecorded { slug: slug.to_owned(), finding: finding.clone(), new: true });
        }
        let mut workforce = Vec::new();
        let ledger = RunState { journal, findings, summary, open };
        let driven = self.drive(opening, &run.variants, &known, ledger, &mut |event| {
            if let Event::WorkforceChanged { workforce: now } = event {
                workforce.clone_from(now);
            }
            sink(event);
        });
        self.sites.iter().flat_map(|site| site.newly_given_up()).for_each(|event| sink(&event));
        let summary = driven?;
        record_workforce(&self.options.out, workforce)?;
        Ok(summary)
    }

    fn drive(
        &self,
        Opening { lanes, rungs }: Opening,
        variants: &[VariantInfo],
        known: &Catalog,
        ledger: RunState,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, CampaignError> {
        let jobs = self.options.jobs.get();
        let (ticket_sender, tickets) = unbounded();
        let (complete_sender, complete) = unbounded();
        let (delivery_sender, deliveries) = unbounded();
        let (climb_queue, climbs) = Queue::new();
        let (queues, job_receivers): (Vec<_>, Vec<_>) = self.sites.iter().map(|_| unbounded()).unzip();
        let deliverer = || EventSender::new(delivery_sender.clone());
        let oracle = self.options.oracle_for(variants.iter().map(|info| &info.description));
        let preparer = Generator {
            source: Arc::clone(&self.source),
            oracle: Arc::clone(&oracle),
            queues,
            repeat_every: self.options.repeat_every,
        };
        let crews = &self.crews(variants, rungs);
        let claims = Dedup::default();
        claims.update(ledger.findings.catalog());
        let rule = self.options.ladder.map(|ladder| match ladder {
            Ladder::Sample(every) => Rule::sample(every, known),
            Ladder::Time(part) => Rule::time(part, 2 * self.climbers() as u64, &ledger.summary, &claims),
        });
        let climbing = &EscalationPolicy::new(rule, self.options.seed, variants);
        let judge = Judge { crews, climbing, fresh_every: self.options.fresh_every };
        let climber = EscalationThread { crews, climbing };
        let investigator = Investigator::new(&oracle, &self.source, self.options.minimize);
        let resources = Resources { crews, investigator, claims: &claims };
        let gang = |((site, queue), workers): ((&Arc<DevicePools>, _), &Vec<WorkerProcess>)| {
            VariantWorkers::new(Arc::clone(site), queue, device_use(workers))
        };
        let gangs = self.sites.iter().zip(job_receivers).zip(&lanes).map(gang).collect();
        let means = Some(self.means).filter(|_| self.options.scaling == Scaling::AsNeeded);
        thread::scope(|scope| {
            let dispatcher = delivery_sender.clone();
            let outbox = Outbox::new(move |message| drop(dispatcher.send(message.into())));
            let foreman = Autoscaler::new(scope, gangs, means, outbox);
            foreman.start_executors(lanes);
            let (_until_the_end, over) = bounded(0);
            scope.spawn(move || foreman.run(&over));
            for _ in 0..jobs {
                let (preparer, tickets, deliverer) = (preparer.clone(), tickets.clone(), deliverer());
                scope.spawn(move || preparer.run(&tickets, &deliverer));
            }
            for _ in 0..jobs {
                let (complete, deliverer) = (complete.clone(), deliverer());
                scope.spawn(move || judge.run(&complete, &deliverer));
            }
            for _ in 0..self.climbers() {
                let (climbs, deliverer) = (climbs.clone(), deliverer());
                scope.spawn(move || climber.run(&climbs, &deliverer));
            }
            // only the threads hold these now, so that they end when the committer does
            drop((preparer, tickets, complete, climbs));
            let at_once = self.options.investigations.get();
            let limits = Limits { at_once, patience: self.options.patience() };
            let docket = TriageQueue::new(scope, resources, delivery_sender.clone(), limits);
            let tickets =
                Admission::new(&self.options, strictest_use(variants), ticket_sender, ledger.earlier());
            let committer = Dispatcher::new(crews, ledger, tickets, docket, complete_sender, climb_queue);
            let summary = committer.run(&deliveries, sink);
            // what is still under way is no part of the campaign, and may take as long as its deadline
            self.ground.kill_workers();
            summary
        })
    }

    /// The crews of all variants, those of rungs behind the others.
    fn crews(&self, variants: &[VariantInfo], rungs: Vec<Rung>) -> Vec<TriageWorkers> {
        let crew = |(info, site): (&VariantInfo, &Arc<DevicePools>)| {
            TriageWorkers::new(info.clone(), Arc::clone(site), self.options.investigations)
        };
        let bases = variants.iter().zip(&self.sites).map(crew);
        bases.chain(Rung::crews(rungs, &self.options)).collect()
    }

    /// How many cases climb at once: fewer than run, since few of them climb.
    fn climbers(&self) -> usize {
        match self.options.ladder {
            Some(_) => {
                let climbers = self.options.jobs.get().div_ceil(LANES_A_CLIMBER);
                climbers.max(self.options.devices.len()).min(self.options.most_on_a_rung().get())
            }
            None => 0,
        }
    }

    /// A worker for every lane that a variant begins with, and then one for every rung above.
    fn start_workers(&self) -> Result<Opening, CampaignError> {
        let lanes = self.start_lanes()?;
        let _soon = self.expect_lanes(&lanes);
        let rungs = match self.options.ladder {
            Some(_) => Rung::start(&self.described(&lanes), &self.options, &self.ground)?,
            None => Vec::new(),
        };
        Ok(Opening { lanes, rungs })
    }

    /// Has workers started for the lanes that variants will get next, until it is dropped.
    fn expect_lanes(&self, lanes: &[Vec<WorkerProcess>]) -> Vec<SpareRequest> {
        let grows = |(_, workers): &(_, &Vec<WorkerProcess>)| {
            self.options.scaling == Scaling::AsNeeded && device_use(workers) == DeviceUse::Shared
        };
        let growing = self.sites.iter().zip(lanes).filter(grows);
        let soon = growing.flat_map(|(site, _)| {
            let nurseries = site.pools();
            let soon = LANES_SOON.min(self.means.on_devices.div_ceil(nurseries.len()));
            nurseries.iter().map(move |pool| pool.request_spares(soon))
        });
        soon.collect()
    }

    /// A worker for every lane that a variant begins with: the first on each device tells how many may use it.
    fn start_lanes(&self) -> Result<Vec<Vec<WorkerProcess>>, CampaignError> {
        let jobs = self.options.jobs.get();
        let first = start_all(self.sites.iter().map(|site| site.pools().iter().collect()).collect())?;
        if self.options.scaling == Scaling::AsNeeded {
            return Ok(first);
        }
        let others =
            self.sites.iter().zip(&first).map(|(site, first)| {
                site.pools_for(jobs, device_use(first)).skip(site.pools().len()).collect()
            });
        let others = start_all(others.collect())?;
        let joined = first.into_iter().zip(others);
        Ok(joined.map(|(first, others)| first.into_iter().chain(others).collect()).collect())
    }

    /// The variants that every case runs on, with what the first of their workers says.
    fn described<'a>(&'a self, lanes: &'a [Vec<WorkerProcess>]) -> Vec<(&'a Variant, &'a Description)> {
        let described = |(site, workers): (&'a Arc<DevicePools>, &'a Vec<WorkerProcess>)| {
            Some((site.variant(), workers.first()?.description()))
        };
        self.sites.iter().zip(lanes).filter_map(described).collect()
    }

    /// Every worker that was started.
    fn started<'a>(&'a self, opening: &'a Opening) -> impl Iterator<Item = (&'a Variant, &'a WorkerProcess)> {
        let of_site = |(site, workers): (&'a Arc<DevicePools>, &'a Vec<WorkerProcess>)| {
            workers.iter().map(|worker| (site.variant(), worker))
        };
        let lanes = self.sites.iter().zip(&opening.lanes).flat_map(of_site);
        lanes.chain(opening.rungs.iter().map(|rung| (rung.variant(), rung.worker())))
    }

    fn run_info(&self, opening: &Opening) -> RunInfo {
        let bases = self.described(&opening.lanes).into_iter().map(|(variant, description)| VariantInfo {
            variant: variant.clone(),
            description: description.clone(),
            rung_of: None,
        });
        RunInfo {
            format: JOURNAL_FORMAT,
            twinfer: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.options.seed,
            families: self.options.families.clone(),
            budget: self.options.budget,
            shard: self.options.shard,
            jobs: self.options.jobs.get(),
            ladder: self.options.ladder,
            variants: bases.chain(opening.rungs.iter().map(Rung::info)).collect(),
            machine: machine(),
            workforce: Vec::new(),
            started: now(),
        }
    }
}

/// How a variant uses its devices, as the first of its workers says.
fn device_use(workers: &[WorkerProcess]) -> DeviceUse {
    workers.first().map(|worker| worker.description().device_use).unwrap_or_default()
}

/// How those variants use their devices that every case runs on: alone, if one of them does.
fn strictest_use(variants: &[VariantInfo]) -> DeviceUse {
    let bases = variants.iter().filter(|info| info.rung_of.is_none());
    bases.map(|info| info.description.device_use).find(|used| *used == DeviceUse::Alone).unwrap_or_default()
}
