//! The findings of a run with their cases, to be compared with those of another run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use twinfer_case::{
    BackendName, CaseHash, CaseRecord, Event, Finding, FindingCount, Signature, Variant, VariantRecord,
};

use crate::{Report, ReportedFinding, Reporter, ending, numbers::counted, uncompared};

/// One of the two compared runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedRun {
    /// The name to print, such as its path.
    pub name: String,
    /// The variants with the name and version of each backend.
    pub variants: Vec<(Variant, String)>,
    /// The seed that drew the cases; `None` if they were given.
    pub seed: Option<u64>,
    /// Cases with a verdict.
    pub cases: u64,
    /// Cases of these that differ and were not investigated.
    pub open: u64,
    /// Why the run has fewer cases than its budget, or may lack findings; `None` if it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
}

/// A finding of one run whose cases count for other findings in the other run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Renamed {
    /// The finding.
    pub finding: FindingCount,
    /// The findings of the other run, with the number of cases that they share.
    pub others: Vec<FindingCount>,
}

/// Whether the same mistake of a backend may explain two findings.
pub type SameMistake = fn(&Finding, &Finding) -> bool;

/// The cases and findings of a run, collected from its events.
#[derive(Default)]
pub struct RunFindings {
    report: Report,
    /// Cases of which it is known what they show.
    pub(crate) tried: BTreeSet<CaseHash>,
    /// Cases that were not investigated, so that their findings are unknown.
    open: BTreeSet<CaseHash>,
    /// Cases that a variant of a backend left out because others hang.
    left_out: BTreeMap<BackendName, BTreeSet<CaseHash>>,
    /// Cases on which a variant of a backend was compared, or diverges.
    judged: BTreeMap<BackendName, BTreeSet<CaseHash>>,
    by_slug: BTreeMap<String, BTreeSet<CaseHash>>,
}

impl Reporter for RunFindings {
    fn on_event(&mut self, event: &Event) {
        self.report.on_event(event);
        match event {
            Event::CaseFinished { record } => self.record(record),
            Event::FindingRecorded { slug, .. } | Event::FindingRestored { slug, .. } => {
                self.by_slug.entry(slug.clone()).or_default();
            }
            _ => {}
        }
    }
}

impl RunFindings {
    fn record(&mut self, record: &CaseRecord) {
        let cases = if record.open.is_empty() { &mut self.tried } else { &mut self.open };
        cases.insert(record.case);
        for left_out in record.variants.iter().filter(|variant| !variant.has_run()) {
            self.left_out.entry(left_out.variant.backend.clone()).or_default().insert(record.case);
        }
        let is_judged =
            |variant: &VariantRecord| variant.is_compared() || !variant.verdict.divergences().is_empty();
        for judged in record.variants.iter().filter(|variant| is_judged(variant)) {
            self.judged.entry(judged.variant.backend.clone()).or_default().insert(record.case);
        }
        for slug in &record.findings {
            self.by_slug.entry(slug.clone()).or_default().insert(record.case);
        }
    }

    pub(crate) fn side(&self, name: &str) -> ComparedRun {
        let variants = self.report.run.iter().flat_map(|run| &run.variants);
        let variants = variants.map(|info| (info.variant.clone(), self.report.backend(&info.variant)));
        let (cases, open) = (self.report.summary.cases, self.report.summary.open);
        let drawn = self.report.run.as_ref().filter(|run| !run.families.is_empty());
        let seed = drawn.map(|run| run.seed);
        let ending = ending::sentence(&self.report);
        ComparedRun { name: name.to_owned(), variants: variants.collect(), seed, cases, open, ending }
    }

    /// Why variants of the run were compared on no case, each line with the name of the run.
    pub(crate) fn uncompared(&self, name: &str) -> Vec<String> {
        let causes = uncompared::on_one_line(&self.report.summary.causes());
        causes.iter().map(|cause| format!("{name}: {cause}")).collect()
    }

    pub(crate) fn cases_of(&self, slug: &str) -> &BTreeSet<CaseHash> {
        const NONE: &BTreeSet<CaseHash> = &BTreeSet::new();
        self.by_slug.get(slug).unwrap_or(NONE)
    }

    /// The stable findings that `other` lacks: those of which it knows what their cases show, those whose cases it did not investigate, and
    /// those whose cases it did not run.
    pub(crate) fn absent_in(&self, other: &Self) -> [Vec<FindingCount>; 3] {
        let absent = self.counted_if(|slug| !self.varies(slug, other) && !other.has_finding(slug, self));
        let is_among = |one: &FindingCount, cases| !self.among(&one.slug, cases, other).is_empty();
        let (tried, others): (Vec<_>, Vec<_>) =
            absent.into_iter().partition(|one| is_among(one, &other.tried));
        let (open, not_run) = others.into_iter().partition(|one| is_among(one, &other.open));
        [tried, open, not_run]
    }

    /// Whether `other` judged a case of a finding of this run on the finding's backend.
    pub(crate) fn is_judged_in(&self, other: &Self, slug: &str) -> bool {
        let Some(backend) = self.backend_of(slug) else { return true };
        let judged = other.judged.get(backend);
        judged.is_some_and(|judged| !self.among(slug, judged, other).is_empty())
    }

    /// The cases of a finding of this run that are among these cases of `other`, which ran them on the finding's backend.
    fn among(&self, slug: &str, cases: &BTreeSet<CaseHash>, other: &Self) -> Vec<CaseHash> {
        let backend = self.backend_of(slug);
        if backend.is_some_and(|backend| !other.has_backend(backend)) {
            return Vec::new();
        }
        let left_out = backend.and_then(|backend| other.left_out.get(backend));
        let has_run = |case: &&CaseHash| left_out.is_none_or(|left_out| !left_out.contains(case));
        self.cases_of(slug).intersection(cases).filter(has_run).copied().collect()
    }

    /// Whether this run has the finding that is called `slug` in `other`, perhaps by the name that another version of twinfer gave it.
    fn has_finding(&self, slug: &str, other: &Self) -> bool {
        let called = other.report.findings.iter().find(|found| found.slug == slug);
        let signature = called.map(|found| found.finding.current_signature());
        let is_same = |own: &ReportedFinding| Some(own.finding.current_signature()) == signature;
        self.by_slug.contains_key(slug) || self.report.findings.iter().any(is_same)
    }

    /// The backend of a finding; `None` if the run does not hold the finding itself.
    pub(crate) fn backend_of(&self, slug: &str) -> Option<&BackendName> {
        self.finding(slug).map(|finding| &finding.signature.backend)
    }

    fn has_backend(&self, backend: &BackendName) -> bool {
        let run = self.report.run.as_ref();
        run.is_none_or(|run| run.variants.iter().any(|info| info.variant.backend == *backend))
    }

    /// Splits the findings that are `absent` in `other` into those that have another name there and the rest.
    pub(crate) fn renamed_in(
        &self,
        other: &Self,
        absent: Vec<FindingCount>,
        same_mistake: SameMistake,
    ) -> (Vec<Renamed>, Vec<FindingCount>) {
        let mut renamed = Vec::new();
        let rest = absent.into_iter().filter(|finding| {
            if !self.is_renamed(&finding.slug, other, same_mistake) {
                return true;
            }
            let others = other.shown_by(self.cases_of(&finding.slug), self.backend_of(&finding.slug));
            renamed.push(Renamed { finding: finding.clone(), others });
            false
        });
        let rest = rest.collect();
        (renamed, rest)
    }

    /// Whether every case of a finding that `other` decided shows one there that varies, or one that the same mistake may explain and that this run
    /// does not tell from it.
    fn is_renamed(&self, slug: &str, other: &Self, same_mistake: SameMistake) -> bool {
        let Some(finding) = self.finding(slug) else { return false };
        let is_other_name = |one: &&ReportedFinding| {
            same_mistake(finding, &one.finding) && !self.has_finding(&one.slug, other)
        };
        let other_names = other.report.findings.iter().filter(is_other_name);
        let others: Vec<_> = other_names
            .map(|one| other.cases_of(&one.slug))
            .chain(other.varying_kinds(&finding.signature.backend))
            .collect();
        let tried = self.among(slug, &other.tried, other);
        !tried.is_empty() && tried.iter().all(|case| others.iter().any(|cases| cases.contains(case)))
    }

    fn finding(&self, slug: &str) -> Option<&Finding> {
        self.report.findings.iter().find(|one| one.slug == slug).map(|one| &one.finding)
    }

    pub(crate) fn varying(&self, other: &Self) -> Vec<FindingCount> {
        self.counted_if(|slug| self.varies(slug, other))
    }

    fn counted_if(&self, wanted: impl Fn(&str) -> bool) -> Vec<FindingCount> {
        let wanted = self.by_slug.iter().filter(|(slug, _)| wanted(slug));
        wanted.map(|(slug, cases)| FindingCount { slug: slug.clone(), cases: cases.len() as u64 }).collect()
    }

    /// Whether a finding varies from run to run. One that `other` lacks also does if it is one outcome of a finding that varies, or if its
    /// cases show findings that vary there.
    fn varies(&self, slug: &str, other: &Self) -> bool {
        let Some(finding) = self.finding(slug) else { return false };
        let mut known = self.report.findings.iter().chain(&other.report.findings);
        let tried = self.among(slug, &other.tried, other);
        let backend = &finding.signature.backend;
        let shows_varying = |case: &CaseHash| other.varying_kinds(backend).any(|cases| cases.contains(case));
        finding.kind.varies()
            || !other.has_finding(slug, self)
                && (known.any(|one| finding.is_outcome_of(&one.finding))
                    || !tried.is_empty() && tried.iter().all(shows_varying))
    }

    /// The cases of each finding of `backend` that is of a kind that varies.
    fn varying_kinds<'a>(&'a self, backend: &'a BackendName) -> impl Iterator<Item = &'a BTreeSet<CaseHash>> {
        let findings = self.report.findings.iter();
        let varying = findings
            .filter(move |one| one.finding.kind.varies() && one.finding.signature.backend == *backend);
        varying.map(|one| self.cases_of(&one.slug))
    }

    /// The findings of `backend` that `cases` show, each with the number of those cases; of any backend if it is `None`.
    pub(crate) fn shown_by(
        &self,
        cases: &BTreeSet<CaseHash>,
        backend: Option<&BackendName>,
    ) -> Vec<FindingCount> {
        // the run does not hold findings that were known before, but their names say the backend
        let is_named_after = |slug: &str, backend| {
            self.backend_of(slug).map_or_else(|| Signature::is_slug_of(slug, backend), |of| of == backend)
        };
        let is_of_backend = |slug: &str| backend.is_none_or(|backend| is_named_after(slug, backend));
        let of_backend = self.by_slug.iter().filter(|(slug, _)| is_of_backend(slug));
        let shown = of_backend.map(|(slug, shown)| FindingCount {
            slug: slug.clone(),
            cases: shown.intersection(cases).count() as u64,
        });
        shown.filter(|signed| signed.cases > 0).collect()
    }
}

impl Renamed {
    /// The finding of a run and what it is called in the other one, which is the earlier or the later one.
    pub(crate) fn described(&self, [of, in_other]: [&str; 2]) -> String {
        let others: Vec<_> = self.others.iter().map(described).collect();
        let finding = described(&self.finding);
        format!("{finding} in the {of} run, {} in the {in_other} one", others.join(", "))
    }
}

/// The folder name of a finding with its number of cases.
pub(crate) fn described(finding: &FindingCount) -> String {
    format!("{} ({})", finding.slug, counted(finding.cases, "case", "cases"))
}
