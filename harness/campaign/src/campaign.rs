use std::{
    sync::Arc,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use crossbeam_channel::{bounded, unbounded};
use twinfer_case::{
    Backend, DeviceUse, Event, JOURNAL_FORMAT, Machine, RunInfo, Summary, Variant, VariantInfo,
};

use crate::{
    CampaignError, CaseSource, Hiring, Options,
    committer::{Committer, Ledger},
    crew::Crew,
    delivery::Deliverer,
    docket::{Claims, Docket, Resources},
    findings::Findings,
    foreman::{Foreman, Gang},
    investigation::Investigator,
    journal::{Journal, note_workforce},
    judging::Judge,
    preparer::Preparer,
    site::Site,
    source::generated,
    staffing::Means,
    tickets::Tickets,
    worker::{Gate, Nursery, Watchdog, WorkerProcess, memory},
};

/// A run over many cases with a budget, a journal and a set of findings.
pub struct Campaign {
    options: Options,
    source: CaseSource,
    sites: Vec<Arc<Site>>,
    /// What there is for workers.
    means: Means,
}

impl Campaign {
    /// Checks what can be checked before anything is started.
    pub fn new(options: Options) -> Result<Self, CampaignError> {
        let source = match &options.source {
            Some(source) => Arc::clone(source),
            None => generated(&options.families, options.seed)?,
        };
        let (watchdog, gate) = (Watchdog::start(), Arc::new(Gate::of_machine()));
        let subjects = options.variants.iter().filter(|variant| variant.backend != Backend::Golden);
        let site = |variant: &Variant| Arc::new(Site::new(variant, &options, &watchdog, &gate));
        let sites: Vec<_> = subjects.map(site).collect();
        if sites.is_empty() {
            return Err(CampaignError::NoBackend);
        }
        // the other half is golden's, and that of workers that stand by or investigate
        let means = Means { most: options.jobs.get(), memory: memory::available().map(|bytes| bytes / 2) };
        Ok(Self { options, source, sites, means })
    }

    /// Runs it to the end of its budget and tells `sink` what happens.
    ///
    /// With deterministic backends and a budget of cases, everything but timings and the events about workers is a
    /// function of the options without `jobs`.
    pub fn run(self, sink: &mut dyn FnMut(&Event)) -> Result<Summary, CampaignError> {
        let workers = self.start_workers()?;
        let run = self.run_info(&workers);
        let mut findings = Findings::open(&self.options.out, self.options.known.as_deref())?;
        let (journal, summary) = if self.options.resume {
            let (journal, mut summary) = Journal::resume(&self.options.out, &run)?;
            findings.resume(&summary)?;
            summary.new_findings = findings.new_findings();
            (journal, summary)
        } else {
            let subjects = self.sites.iter().map(|site| site.variant().clone());
            (Journal::create(&self.options.out, &run)?, Summary::new(subjects))
        };
        for (site, workers) in self.sites.iter().zip(&workers) {
            for worker in workers {
                let millis = worker.start_millis();
                sink(&Event::WorkerStarted { variant: site.variant().clone(), millis });
            }
        }
        let crew = |(info, site): (&VariantInfo, &Arc<Site>)| {
            Crew::new(info.clone(), Arc::clone(site), self.options.investigations)
        };
        let crews: Vec<_> = run.variants.iter().zip(&self.sites).map(crew).collect();
        sink(&Event::CampaignStarted { run });
        for (slug, finding) in findings.ours() {
            sink(&Event::FindingRecorded { slug: slug.to_owned(), finding: finding.clone(), new: true });
        }
        let mut workforce = Vec::new();
        let driven = self.drive(workers, &crews, Ledger { journal, findings, summary }, &mut |event| {
            if let Event::WorkforceChanged { workforce: now } = event {
                workforce.clone_from(now);
            }
            sink(event);
        });
        self.sites.iter().flat_map(|site| site.news()).for_each(|event| sink(&event));
        let summary = driven?;
        note_workforce(&self.options.out, workforce)?;
        Ok(summary)
    }

    fn drive(
        &self,
        workers: Vec<Vec<WorkerProcess>>,
        crews: &[Crew],
        ledger: Ledger,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Summary, CampaignError> {
        let jobs = self.options.jobs.get();
        let (ticket_sender, tickets) = unbounded();
        let (complete_sender, complete) = unbounded();
        let (delivery_sender, deliveries) = unbounded();
        let (queues, job_receivers): (Vec<_>, Vec<_>) = self.sites.iter().map(|_| unbounded()).unzip();
        let deliverer = || Deliverer::new(delivery_sender.clone());
        let preparer = Preparer {
            source: Arc::clone(&self.source),
            oracle: Arc::clone(&self.options.oracle),
            queues,
            repeat_every: self.options.repeat_every,
        };
        let judge = Judge { crews, fresh_every: self.options.fresh_every };
        let claims = Claims::default();
        claims.know(ledger.findings.catalogue());
        let investigator = Investigator::new(&self.options, &self.source);
        let resources = Resources { crews, investigator, claims: &claims };
        let gang = |((site, queue), workers): ((&Arc<Site>, _), &Vec<WorkerProcess>)| {
            Gang::new(Arc::clone(site), queue, device_use(workers))
        };
        let gangs = self.sites.iter().zip(job_receivers).zip(&workers).map(gang).collect();
        let means = Some(self.means).filter(|_| self.options.hiring == Hiring::AsNeeded);
        thread::scope(|scope| {
            let foreman = Foreman::new(scope, gangs, means, delivery_sender.clone());
            foreman.open(workers);
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
            // only the threads hold these now, so that they end when the committer does
            drop((preparer, tickets, complete));
            let limit = self.options.investigations.get();
            let docket = Docket::new(scope, resources, delivery_sender.clone(), limit);
            let tickets = Tickets::new(&self.options, ticket_sender, ledger.summary.cases);
            Committer::new(crews, ledger, tickets, docket, complete_sender).run(&deliveries, sink)
        })
    }

    /// A worker for every lane that a variant begins with: the first on each device tells how many may use it.
    fn start_workers(&self) -> Result<Vec<Vec<WorkerProcess>>, CampaignError> {
        let jobs = self.options.jobs.get();
        let first = start_all(self.sites.iter().map(|site| site.nurseries().iter().collect()).collect())?;
        if self.options.hiring == Hiring::AsNeeded {
            return Ok(first);
        }
        let others = self.sites.iter().zip(&first).map(|(site, first)| {
            site.of_lanes(jobs, device_use(first)).skip(site.nurseries().len()).collect()
        });
        let others = start_all(others.collect())?;
        let joined = first.into_iter().zip(others);
        Ok(joined.map(|(first, others)| first.into_iter().chain(others).collect()).collect())
    }

    fn run_info(&self, workers: &[Vec<WorkerProcess>]) -> RunInfo {
        let variants = self.sites.iter().zip(workers).filter_map(|(site, workers)| {
            let description = workers.first()?.description().clone();
            Some(VariantInfo { variant: site.variant().clone(), description })
        });
        RunInfo {
            format: JOURNAL_FORMAT,
            twinfer: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.options.seed,
            families: self.options.families.clone(),
            budget: self.options.budget,
            shard: self.options.shard,
            jobs: self.options.jobs.get(),
            variants: variants.collect(),
            machine: machine(),
            workforce: Vec::new(),
            started: now(),
        }
    }
}

/// A worker of each nursery, all started at once.
fn start_all(nurseries: Vec<Vec<&Arc<Nursery>>>) -> Result<Vec<Vec<WorkerProcess>>, CampaignError> {
    thread::scope(|scope| {
        let start = |nursery: &Arc<Nursery>| {
            let nursery = Arc::clone(nursery);
            scope.spawn(move || nursery.take())
        };
        let starting: Vec<Vec<_>> =
            nurseries.into_iter().map(|nurseries| nurseries.into_iter().map(start).collect()).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err(CampaignError::Supervisor("a starting thread panicked".to_owned())))
        };
        starting.into_iter().map(|threads| threads.into_iter().map(join).collect()).collect()
    })
}

/// How a variant uses its devices, as the first of its workers says.
fn device_use(workers: &[WorkerProcess]) -> DeviceUse {
    workers.first().map(|worker| worker.description().device_use).unwrap_or_default()
}

/// The machine that this runs on.
pub fn machine() -> Machine {
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cores: thread::available_parallelism().map_or(1, std::num::NonZero::get),
    }
}

/// Seconds since 1970-01-01 UTC.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
