//! The *catalog* of findings: how each finding is recognized in other cases, and how many cases of the campaign show it.

use std::sync::Arc;

use twinfer_case::{CaseHash, Cause, Guise};
use twinfer_triggers::DescribedNode;

use crate::{
    classes::weighted_operators,
    identity::Identity,
    matching::Matching,
    minimal_case::MinimalCase,
    provisional::Provisional,
    resemblance::{differ_in_checks, is_alike, known_parts},
    triage_result::Reduced,
};

/// How findings are recognized, in order of discovery. A finding is named by its place in this order.
#[derive(Clone, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
    matching: Matching,
}

#[derive(Clone)]
struct Entry {
    identity: Arc<Identity>,
    /// What suspects were reduced to that turned out to show the finding.
    minimal: Vec<MinimalCase>,
    /// Cases of this campaign that show the finding, masked or not.
    cases: u64,
    /// Cases that show the finding [masked](Catalog::guise), by what they look like.
    masked: Vec<MaskedCases>,
}

/// Cases of one guise that show a finding masked.
#[derive(Clone)]
struct MaskedCases {
    guise: Guise,
    /// Cases of this campaign.
    cases: u64,
}

/// One in this many masked cases is investigated, however many there were before.
const REGULARLY: u64 = 64;

/// Of the cases of a finding about one is examined again before their number doubles.
const PER_DOUBLING: f64 = std::f64::consts::LOG2_E;

impl Catalog {
    /// No findings yet.
    pub fn new(matching: Matching) -> Self {
        Self { matching, ..Self::default() }
    }

    /// Adds a finding that no case counts for yet, and returns its place.
    pub fn add(&mut self, identity: Arc<Identity>) -> usize {
        self.entries.push(Entry { identity, minimal: Vec::new(), cases: 0, masked: Vec::new() });
        self.entries.len() - 1
    }

    /// Counts cases that show the finding at `index`.
    pub fn count(&mut self, index: usize, cases: u64) {
        self.entries[index].cases += cases;
    }

    /// The finding with the signature of a minimal case, or else one that is the same bug.
    pub fn find(&self, identity: &Identity) -> Option<usize> {
        let same = self.entries.iter().position(|entry| entry.identity.signature == identity.signature);
        let is_same = |entry: &Entry| match self.matching {
            Matching::Similar => entry.identity.is_same_as(identity),
            Matching::Exact => entry.identity.shows_mistake_of(identity),
        };
        same.or_else(|| self.entries.iter().position(is_same)).or_else(|| self.find_part(identity))
    }

    /// If two known mistakes, or both directions of one, together explain a minimal case, the finding of one of them. `None` if cases are matched
    /// exactly: other nodes of such a case may be wrong in another way.
    fn find_part(&self, identity: &Identity) -> Option<usize> {
        if self.matching == Matching::Exact {
            return None;
        }
        let explanations = |entry: &Entry| {
            let is_alike = is_alike(&entry.identity.signature, &identity.signature);
            if is_alike { entry.identity.explanations() } else { Vec::new() }
        };
        let known: Vec<_> = self.entries.iter().map(explanations).collect();
        let parts = known_parts(&identity.explanations(), &known)?;
        self.entries.iter().position(|entry| explanations(entry).iter().any(|name| parts.contains(name)))
    }

    /// Notes that what a suspect was reduced to shows the finding at `index`.
    pub fn learn(&mut self, index: usize, minimal: MinimalCase) {
        let known = &mut self.entries[index].minimal;
        if !known.contains(&minimal) {
            known.push(minimal);
        }
    }

    /// The finding that shows in what a suspect was reduced to: that of an earlier suspect that was reduced to the same, or else the one
    /// that is recognized.
    pub fn find_reduced(&self, reduced: &Reduced) -> Option<usize> {
        self.find_learned(reduced).or_else(|| reduced.identities().find_map(|identity| self.find(identity)))
    }

    /// The finding of an earlier suspect that was reduced to the same.
    pub(crate) fn find_learned(&self, reduced: &Reduced) -> Option<usize> {
        self.find_minimal(reduced.minimal?, &reduced.identity.nodes)
    }

    /// The finding that a minimal case with these nodes showed, if its trigger holds for the nodes too, which may be of another opset.
    pub(crate) fn find_minimal(&self, minimal: MinimalCase, nodes: &[DescribedNode]) -> Option<usize> {
        let is_shown = |entry: &Entry| entry.minimal.contains(&minimal) && entry.identity.admits(nodes);
        self.entries.iter().position(is_shown)
    }

    /// The finding that a case that looks like this most likely shows: it satisfies the trigger of the finding, or their signatures
    /// differ at most in attributes that do not matter to the finding, or in further mutants that explain the case as well.
    pub fn find_likely(&self, provisional: &Provisional) -> Option<usize> {
        self.entries.iter().position(|entry| entry.identity.is_likely(provisional))
    }

    /// The guise under which cases that look like this are counted if the finding at `index` is *masked* in them; `None` if it shows unmasked.
    /// It is masked in three ways:
    ///
    /// - mutants explain the finding and none explains the case, in which two mistakes may have combined;
    /// - other mutants explain the case than the finding, and do so by accident;
    /// - another check fails in the backend, as it does in workers that have run certain cases before.
    pub fn guise(&self, index: usize, provisional: &Provisional) -> Option<Guise> {
        let Entry { identity, masked, .. } = &self.entries[index];
        if differ_in_checks(&identity.signature, &provisional.signature) {
            let operators = match &provisional.signature.cause {
                Cause::Graph(classes) => weighted_operators(classes),
                _ => Vec::new(),
            };
            let condition = provisional.signature.failed_check().map(str::to_owned);
            return Some(Guise { operators, condition, ..Guise::default() });
        }
        match (&identity.signature.cause, &provisional.signature.cause) {
            (Cause::Diagnosis(_), Cause::Graph(classes)) => {
                Some(Guise { operators: weighted_operators(classes), ..Guise::default() })
            }
            (Cause::Diagnosis(_) | Cause::Graph(_), Cause::Diagnosis(possible))
                if !identity.is_likely(provisional) =>
            {
                let is_worn = |guise: &Guise| {
                    !guise.mutants.is_empty() && guise.mutants.iter().all(|mutant| possible.contains(mutant))
                };
                let known = masked.iter().map(|masked| &masked.guise).find(|guise| is_worn(guise));
                let own = || Guise { mutants: possible.clone(), ..Guise::default() };
                Some(known.cloned().unwrap_or_else(own))
            }
            _ => None,
        }
    }

    /// Counts cases of this guise that show the finding at `index` masked; true if they are the first.
    pub fn count_masked(&mut self, index: usize, guise: &Guise, cases: u64) -> bool {
        let masked = &mut self.entries[index].masked;
        if let Some(known) = masked.iter_mut().find(|known| known.guise == *guise) {
            known.cases += cases;
            return false;
        }
        masked.push(MaskedCases { guise: guise.clone(), cases });
        true
    }

    /// The finding that is masked most often in cases that look like this; the first of several.
    pub fn masked_by(&self, provisional: &Provisional) -> Option<usize> {
        self.most_masked(provisional).map(|(index, _)| index)
    }

    /// The finding of [`masked_by`](Self::masked_by); `None` if `case`, the next such case, is due for an investigation, which makes
    /// sure that the finding does show. About one is due before their number doubles, and one in [`REGULARLY`].
    pub fn find_masked(&self, provisional: &Provisional, case: CaseHash) -> Option<usize> {
        let (index, cases) = self.most_masked(provisional)?;
        (!is_drawn(case, chance(cases + 1).max(1.0 / REGULARLY as f64))).then_some(index)
    }

    /// The finding that is masked in most cases that look like this, and the number of those cases. `None` if
    /// cases are matched exactly.
    fn most_masked(&self, provisional: &Provisional) -> Option<(usize, u64)> {
        if self.matching == Matching::Exact {
            return None;
        }
        let alike = self.entries.iter().enumerate().rev();
        let alike = alike.filter(|(_, Entry { identity, .. })| {
            is_alike(&identity.signature, &provisional.signature)
                || differ_in_checks(&identity.signature, &provisional.signature)
        });
        let counted = alike.filter_map(|(index, entry)| {
            let guise = self.guise(index, provisional)?;
            let masked = entry.masked.iter().find(|masked| masked.guise == guise)?;
            Some((index, masked.cases))
        });
        counted.max_by_key(|(_, cases)| *cases)
    }

    /// The identity of the finding at `index` if `case`, its next case, is to be searched for another bug hidden behind the finding: about
    /// one is before their number doubles. `None` otherwise, and for a finding that mutants explain or of which a parser names the condition
    /// that fails: values that a mutant reproduces hide nothing, and another condition is another finding. Findings that are matched exactly
    /// need not be minimal, so a case that lacks something of theirs may show them all the same.
    pub fn due_to_look_behind(&self, index: usize, case: CaseHash) -> Option<&Arc<Identity>> {
        let Entry { identity, cases, .. } = &self.entries[index];
        let may_hide =
            matches!(identity.signature.cause, Cause::Graph(_)) && !identity.signature.is_told_by_condition();
        let is_minimal = self.matching == Matching::Similar;
        (may_hide && is_minimal && *cases > 0 && is_drawn(case, chance(*cases + 1))).then_some(identity)
    }
}

/// The chance of the case of this number among cases of its kind to be examined again. It hardly depends on whether one case more or fewer
/// was counted before, which an unstable outcome may decide.
fn chance(number: u64) -> f64 {
    PER_DOUBLING / number as f64
}

/// Whether `case` is drawn with this chance: the same case each time.
fn is_drawn(case: CaseHash, chance: f64) -> bool {
    (case.number() as f64) < chance * 2.0_f64.powi(64)
}

#[cfg(test)]
impl Catalog {
    pub(crate) fn identity(&self, index: usize) -> &Identity {
        &self.entries[index].identity
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::{BackendName, Kind, Request, Signature, Stage};
    use twinfer_onnx::DataType;

    use super::*;

    fn signature(cause: Cause) -> Signature {
        let backend: BackendName = "trt".parse().expect("a backend");
        Signature { backend, stage: Stage::Execute, kind: Kind::WrongValues, cause, error: None }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn identity(cause: Cause, classes: &[&str]) -> Identity {
        Identity {
            broken_by: None,
            signature: signature(cause),
            classes: names(classes),
            outcomes: Vec::new(),
            trigger: None,
            edits: Vec::new(),
            refuted: Vec::new(),
            nodes: Vec::new(),
        }
    }

    fn catalog_with(cause: Cause, classes: &[&str]) -> Catalog {
        let mut catalog = Catalog::default();
        catalog.add(Arc::new(identity(cause, classes)));
        catalog
    }

    /// Some case, another one for each number.
    fn case(number: u64) -> CaseHash {
        let request = Request { precision: DataType::Float, tf32: false };
        CaseHash::over(&number.to_le_bytes(), &request, &[])
    }

    /// A case that is drawn with certainty alone.
    fn not_drawn() -> CaseHash {
        "f".repeat(64).parse().expect("a hash")
    }

    #[test]
    fn minimal_case_that_showed_a_finding_shows_it_again() {
        let mut catalog = catalog_with(Cause::Graph(names(&["Conv"])), &["Conv"]);
        let minimal = |number: u64| MinimalCase::with_hash(case(number));
        assert_eq!(catalog.find_minimal(minimal(1), &[]), None);
        catalog.learn(0, minimal(1));
        assert_eq!(catalog.find_minimal(minimal(1), &[]), Some(0));
        assert_eq!(catalog.find_minimal(minimal(2), &[]), None, "it may show another bug");
    }

    #[test]
    fn two_known_mistakes_at_once_are_no_finding() {
        let explained = |mutant: &str| Arc::new(identity(Cause::Diagnosis(names(&[mutant])), &["Conv"]));
        let unexplained = identity(Cause::Graph(names(&["Conv", "bias", "pads"])), &["Conv"]);
        let both = Identity { edits: names(&["pads-swapped+bias-dropped"]), ..unexplained.clone() };
        let mut catalog = Catalog::default();
        catalog.add(explained("kernel-reversed"));
        catalog.add(explained("bias-dropped"));
        assert_eq!(catalog.find(&both), None, "one of them is not known");
        catalog.add(explained("pads-swapped"));
        assert_eq!(catalog.find(&both), Some(1));
        assert_eq!(catalog.find(&unexplained), None);
    }

    #[test]
    fn both_directions_of_a_known_mistake_are_no_finding() {
        let explained = |mutants: &[&str]| identity(Cause::Diagnosis(names(mutants)), &["Conv"]);
        let both = explained(&["dequantized-on-other-axis"]);
        let mut catalog = Catalog::default();
        catalog.add(Arc::new(explained(&["scale-along-axis-1", "dequantized-along-axis-1"])));
        assert_eq!(catalog.find(&both), None, "the other direction is not known");
        catalog.add(Arc::new(explained(&["scale-along-axis-0", "dequantized-along-axis-0"])));
        assert_eq!(catalog.find(&both), Some(0));
        assert_eq!(catalog.find(&explained(&["dequantized-on-other-axis", "truncated"])), None);
    }

    #[test]
    fn masked_cases_are_investigated_ever_more_seldom_and_regularly() {
        let mut catalog = catalog_with(Cause::Diagnosis(names(&["bias-dropped"])), &["Conv"]);
        let unexplained = Provisional::from(signature(Cause::Graph(names(&["Conv", "group"]))));
        assert_eq!(catalog.masked_by(&unexplained), None, "no case showed it masked");
        let guise = catalog.guise(0, &unexplained).expect("masked");
        assert_eq!(guise.operators, ["Conv"]);
        assert!(catalog.count_masked(0, &guise, 1));
        let mut due = [0, 0];
        for next in 2..6400 {
            due[usize::from(next >= 128)] +=
                u32::from(catalog.find_masked(&unexplained, case(next)).is_none());
            assert!(!catalog.count_masked(0, &guise, 1));
        }
        let [early, late] = due;
        assert!((4..=10).contains(&early), "{early}: about one before each doubling up to 128");
        assert!((75..=125).contains(&late), "{late}: about one in 64");
        assert_eq!(catalog.masked_by(&unexplained), Some(0));
    }

    #[test]
    fn cases_that_mutants_explain_by_accident_mask_a_finding() {
        let mut catalog = catalog_with(Cause::Graph(names(&["DequantizeLinear"])), &["DequantizeLinear"]);
        let by = |mutants: &[&str]| Provisional::from(signature(Cause::Diagnosis(names(mutants))));
        let shifted = by(&["pad-shifted"]);
        let guise = catalog.guise(0, &shifted).expect("nothing explains the finding");
        assert!(catalog.count_masked(0, &guise, 2));
        assert_eq!(catalog.find_masked(&shifted, not_drawn()), Some(0));
        let further = by(&["pad-shifted", "truncated"]);
        assert_eq!(catalog.guise(0, &further), Some(guise), "what explains it holds by accident as well");
        assert_eq!(catalog.find_masked(&further, not_drawn()), Some(0));
        assert_eq!(catalog.find_masked(&by(&["truncated"]), not_drawn()), None, "it may be explained");
    }

    #[test]
    fn finding_that_the_mutants_of_a_case_explain_shows_unmasked() {
        let catalog = catalog_with(Cause::Diagnosis(names(&["truncated"])), &["QuantizeLinear"]);
        let by = |mutants: &[&str]| Provisional::from(signature(Cause::Diagnosis(names(mutants))));
        assert_eq!(catalog.guise(0, &by(&["pad-shifted", "truncated"])), None);
        let guise = catalog.guise(0, &by(&["pad-shifted"])).map(|guise| guise.mutants);
        assert_eq!(guise, Some(names(&["pad-shifted"])));
    }

    #[test]
    fn unexplained_findings_are_looked_behind_whatever_was_counted_before() {
        let due = |skipped: u64| {
            let mut catalog = catalog_with(Cause::Graph(names(&["Conv"])), &["Conv"]);
            let is_due = |next: &u64| {
                let is_due = catalog.due_to_look_behind(0, case(*next)).is_some();
                catalog.count(0, u64::from(*next != skipped));
                is_due
            };
            (1..1000).filter(is_due).collect::<Vec<_>>()
        };
        let all = due(u64::MAX);
        assert!(
            (5..=15).contains(&all.len()) && all[0] > 1,
            "{all:?}: about one before each doubling, not the first"
        );
        for skipped in 20..60 {
            assert_eq!(due(skipped), all, "the case {skipped} is not counted");
        }
        let mut not_minimal = catalog_with(Cause::Graph(names(&["Conv"])), &["Conv"]);
        not_minimal.matching = Matching::Exact;
        not_minimal.count(0, 1);
        assert!((0..100).all(|number| not_minimal.due_to_look_behind(0, case(number)).is_none()));
        let mut explained = catalog_with(Cause::Diagnosis(names(&["bias-dropped"])), &["Conv"]);
        explained.count(0, 1);
        assert!((0..100).all(|number| explained.due_to_look_behind(0, case(number)).is_none()));
        let (kind, error) = (Kind::RejectsValid, Some("code".to_owned()));
        let refused = Signature { kind, error, ..signature(Cause::Graph(names(&["Conv"]))) };
        let mut named = Catalog::default();
        named.add(Arc::new(Identity {
            broken_by: None,
            signature: refused.with_check(Some("K == 2")),
            classes: names(&["Conv"]),
            outcomes: Vec::new(),
            trigger: None,
            edits: Vec::new(),
            refuted: Vec::new(),
            nodes: Vec::new(),
        }));
        named.count(0, 1);
        assert!((0..100).all(|number| named.due_to_look_behind(0, case(number)).is_none()));
    }
}
