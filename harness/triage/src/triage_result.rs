use std::{sync::Arc, time::Duration};

use twinfer_case::{Diagnosis, Divergence, EncodedCase, Event, Finding, VariantInfo};
use twinfer_checks::Evaluated;

use crate::{
    diverging_case::DivergingCase,
    finding::finding,
    identity::Identity,
    minimal_case::MinimalCase,
    repeats::Repeats,
    study::{Preliminary, Study},
    suspect::Suspect,
};

/// The result of an investigation.
pub struct TriageResult {
    /// The known finding behind which another bug was searched for; `None` if the suspect itself was investigated.
    pub hidden_behind: Option<Arc<Identity>>,
    /// What was found.
    pub outcome: TriageOutcome,
    /// What the investigation took.
    pub effort: Effort,
}

/// What an investigation took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// Candidates that were run.
    pub candidates: u64,
    /// Wall time.
    pub time: Duration,
}

/// What an investigation found.
pub enum TriageOutcome {
    /// No other bug is hidden behind the known finding.
    Nothing,
    /// A minimal case of a finding that an earlier suspect may have reached; fresh workers did not confirm it.
    Reduced(Reduced),
    /// A minimal case, with what fresh workers confirmed.
    Confirmed(Reduced, Box<Confirmed>),
}

impl TriageOutcome {
    /// The minimal case, if there is one.
    pub const fn reduced(&self) -> Option<&Reduced> {
        match self {
            Self::Nothing => None,
            Self::Reduced(reduced) | Self::Confirmed(reduced, _) => Some(reduced),
        }
    }
}

/// The smallest case that shows a symptom in warm workers.
#[derive(Clone)]
pub struct Reduced {
    /// The case with its symptom.
    pub(crate) smallest: DivergingCase,
    /// What the suspect was reduced to, by which later suspects are recognized; `None` if it may show something else when it runs again.
    pub minimal: Option<MinimalCase>,
    /// How the finding that the case shows would be recognized.
    pub identity: Identity,
    /// The same by what experiments showed before edits were searched; `None` if there were no experiments.
    pub(crate) preliminary: Option<Identity>,
    /// The events of the minimization.
    pub events: Vec<Event>,
    /// Whether the reduction came to its end; false if the time limit expired before.
    pub is_minimal: bool,
    /// Whether no further experiments are made: those that there are have been, or the symptom does not recur.
    pub(crate) is_studied: bool,
    /// The edits of golden that explain the case if no mutant does; `None` if none of them does either.
    pub(crate) composed: Option<Diagnosis>,
}

impl Reduced {
    /// A case that shows its symptom in the variant of `info`, to be studied.
    pub(crate) fn new(
        smallest: DivergingCase,
        info: &VariantInfo,
        events: Vec<Event>,
        is_minimal: bool,
    ) -> Self {
        let encoded = &smallest.evaluated.encoded;
        let signature = smallest.symptom.signature(info, encoded);
        let minimal = Some(MinimalCase::new(encoded, &signature, info));
        let identity = Identity::of_case(signature, &encoded.case);
        Self {
            smallest,
            minimal,
            identity,
            preliminary: None,
            events,
            is_minimal,
            is_studied: false,
            composed: None,
        }
    }

    /// The case without experiments.
    pub(crate) fn not_to_study(self) -> Self {
        Self { minimal: None, is_studied: true, ..self }
    }

    /// Whether nothing refutes its identity any more: experiments may show that a minimal case is explained by accident.
    pub(crate) fn is_certain(&self) -> bool {
        self.is_studied || self.smallest.symptom.diagnosis().is_empty()
    }

    /// Whether it is the case of `suspect` itself.
    pub(crate) fn is_of(&self, suspect: &Suspect) -> bool {
        self.smallest.evaluated.encoded.task.hash == suspect.case
    }

    /// The case with what experiments on the variant of `info` showed.
    pub(crate) fn studied(self, study: Study, info: &VariantInfo) -> Self {
        let Study {
            preliminary: Preliminary { trigger: first, refuted: at_first },
            trigger,
            refuted,
            composed,
        } = study;
        let DivergingCase { evaluated, symptom } = self.smallest;
        let signature = symptom.clone().without(&at_first).signature(info, &evaluated.encoded);
        let preliminary = Some(Identity { signature, trigger: first, ..self.identity.clone() });
        let smallest = DivergingCase { symptom: symptom.without(&refuted), evaluated };
        let signature = smallest.symptom.signature(info, &smallest.evaluated.encoded);
        let edits = composed.iter().flat_map(Diagnosis::mutant_names).map(str::to_owned).collect();
        let identity = Identity { signature, trigger, edits, ..self.identity };
        Self { smallest, identity, preliminary, is_studied: true, composed, ..self }
    }

    /// How the finding that the case shows would be recognized, from what was known first to what is known now.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.preliminary.iter().chain([&self.identity])
    }
}

/// A finding that fresh workers confirmed, or that turned out to recur only after other cases, or not at all.
pub struct Confirmed {
    /// The variant in which the finding was confirmed.
    pub info: VariantInfo,
    /// The finding.
    pub finding: Finding,
    /// The finding's case, with what was observed and concluded.
    pub minimal: Evaluated,
    /// The divergences of the suspect as they were confirmed.
    pub divergences: Vec<Divergence>,
    /// The cases that a worker must run before the finding's case, oldest first; empty if it needs none.
    pub history: Vec<Arc<EncodedCase>>,
    /// Whether the divergence recurred.
    pub recurs: bool,
}

impl Confirmed {
    /// `minimal`, which recurs, and to which the case of `suspect` was reduced.
    pub(crate) fn new(
        info: &VariantInfo,
        suspect: &Evaluated,
        minimal: DivergingCase,
        divergences: Vec<Divergence>,
    ) -> Self {
        let (info, finding) = (info.clone(), finding(info, suspect, &minimal, Vec::new()));
        Self { info, finding, minimal: minimal.evaluated, divergences, history: Vec::new(), recurs: true }
    }

    /// Marks the finding as cut short unless it was reduced as far as possible.
    pub(crate) const fn reduced_to(mut self, reduced: &Reduced) -> Self {
        self.finding.cut_short = !reduced.is_minimal;
        self
    }

    /// Marks the finding as one that time was up for: its case may not be minimal, and was not repeated.
    pub(crate) const fn unfinished(mut self) -> Self {
        self.finding.cut_short = true;
        self
    }

    /// Adds what experiments with the minimal case found.
    pub(crate) fn studied_as(mut self, reduced: &Reduced) -> Self {
        self.finding.trigger.clone_from(&reduced.identity.trigger);
        self.finding.explain_by(reduced.composed.as_ref());
        self
    }

    /// Adds what repeats of the finding's case came to.
    pub(crate) fn repeated(mut self, repeats: &Repeats) -> Self {
        self.finding.outcomes = repeats.outcomes();
        self
    }

    /// Adds the cases after which alone the divergence recurs.
    pub(crate) fn after(mut self, history: Vec<Arc<EncodedCase>>) -> Self {
        self.finding.preceding = history.iter().map(|encoded| encoded.task.hash).collect();
        Self { history, ..self }
    }

    /// Marks the divergence as one that did not recur.
    pub(crate) const fn not_recurring(mut self) -> Self {
        self.recurs = false;
        self
    }

    /// Whether what was confirmed is what the suspect was reduced to, which shows the finding each time that it runs.
    pub fn is_of(&self, reduced: &Reduced) -> bool {
        let smallest = reduced.smallest.evaluated.encoded.task.hash;
        self.recurs && !self.finding.kind.varies() && self.minimal.encoded.task.hash == smallest
    }

    /// How the finding is recognized in other cases.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.finding, &self.minimal.encoded.case)
    }
}
