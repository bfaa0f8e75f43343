//! *Recognition* of known findings in a model that is checked. Another model that is wrong in the same operator may have another bug, so wrong
//! values that nothing explains are recognized where they were found: at the nodes that a known finding lists.

use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{CaseRecord, Cause, Disagreement, Finding, OutputDifference, Shown};

use crate::{
    classes::SEVERAL_RUNS,
    resemblance::{is_alike, known_parts},
};

/// Where a model is wrong: the names of nodes, of which one suffices.
pub type Place = BTreeSet<String>;

/// Places with the largest difference at each.
pub type Places = BTreeMap<Place, Difference>;

/// The largest difference at a place, from golden or between two backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub enum Difference {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// This number.
    Finite(f64),
    /// A shape differs, or an element is no number or infinite.
    Unbounded,
}

impl Difference {
    /// The largest difference of outputs that were compared.
    fn of_outputs(difference: Option<f64>) -> Self {
        difference.map_or(Self::Unbounded, Self::Finite)
    }

    /// The larger of two.
    fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }

    /// The number, if it is one.
    pub const fn finite(self) -> Option<f64> {
        match self {
            Self::Finite(difference) => Some(difference),
            Self::Unknown | Self::Unbounded => None,
        }
    }
}

/// Recognizes known findings among those of a run.
pub struct Recognition<'a> {
    known: &'a [Finding],
    records: &'a [CaseRecord],
    /// The names of the outputs of the model.
    outputs: &'a [String],
    /// The findings of the run.
    found: Vec<&'a Finding>,
    /// The findings that cases of the run show and that are explained: new ones and known ones.
    explained: Vec<&'a Finding>,
}

/// Whether a finding is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// No known finding has its signature.
    New,
    /// Known findings have its signature, but none shows [its error](Finding::shows_error_of).
    Otherwise,
    /// Known findings show its error, but none lists these places.
    Elsewhere(Vec<Place>),
    /// Known findings list all its places, but differences at these are much larger than any of them lists.
    MuchLarger(Vec<Place>),
    /// It is known.
    Known,
}

impl<'a> Recognition<'a> {
    /// Recognizes `known` findings among those that a run `found` in a model with these outputs.
    pub fn new(
        found: impl IntoIterator<Item = &'a Finding>,
        known: &'a [Finding],
        records: &'a [CaseRecord],
        outputs: &'a [String],
    ) -> Self {
        let is_shown = |known: &&Finding| {
            let slug = known.signature.slug();
            records.iter().any(|record| record.findings.contains(&slug))
        };
        let found: Vec<_> = found.into_iter().collect();
        let all = found.iter().copied().chain(known.iter().filter(is_shown));
        let explained = all.filter(|finding| !finding.is_told_by_place()).collect();
        Self { known, records, outputs, found, explained }
    }

    /// Where the model is wrong in the cases that show a finding, without the nodes that explained findings, or others on the same case, blame
    /// first: everywhere, where no segment is to blame.
    pub fn places(&self, finding: &Finding) -> Places {
        let (slug, backend) = (finding.signature.slug(), &finding.signature.backend);
        let records = self.records.iter().filter(|record| record.findings.contains(&slug));
        let wrong = records.flat_map(|record| {
            let others = self.blamed_by_others(finding, record);
            let wrong = self.wrong_in(record, finding).into_iter();
            wrong.filter(move |(place, _)| place.is_disjoint(&others))
        });
        let of_backend = self.explained.iter().filter(|other| other.signature.backend == *backend);
        let elsewhere: Place = of_backend.filter_map(|other| first_place(other)).flatten().collect();
        let wrong = wrong.filter(|(place, _): &(Place, _)| place.is_disjoint(&elsewhere));
        let mut places = Places::new();
        let first = first_place(finding).map(|place| (place, Difference::Unknown));
        for (place, difference) in wrong.chain(first) {
            let largest = places.entry(place).or_default();
            *largest = largest.max(difference);
        }
        places
    }

    /// The nodes that other findings of a case blame first: whether these are known is asked of them.
    fn blamed_by_others(&self, finding: &Finding, record: &CaseRecord) -> Place {
        let is_other = |other: &&&Finding| {
            other.signature != finding.signature
                && other.signature.backend == finding.signature.backend
                && record.findings.contains(&other.signature.slug())
        };
        let own = first_place(finding).unwrap_or_default();
        let others = self.found.iter().filter(is_other).filter_map(|other| first_place(other));
        others.flatten().filter(|name| !own.contains(name)).collect()
    }

    /// Where the backend of a finding is wrong in a case, or disagrees with another one, and by how much.
    fn wrong_in(&self, record: &CaseRecord, finding: &Finding) -> Vec<(Place, Difference)> {
        let backend = &finding.signature.backend;
        let of_backend = record.variants.iter().filter(|record| record.variant.backend == *backend);
        let divergences = of_backend.flat_map(|record| record.verdict.divergences());
        if let Some(Disagreement { with, .. }) = finding.disagreement() {
            let all = divergences.filter_map(|divergence| divergence.disagreement.as_ref());
            let of_pair = all.filter(|disagreement| disagreement.with.backend == with.backend);
            return of_pair.flat_map(|disagreement| self.differing_outputs(disagreement)).collect();
        }
        let culprits = divergences.filter(|one| one.concerns_values()).map(|one| one.culprit.as_ref());
        let wrong = culprits.flat_map(|culprit| match culprit {
            Some(culprit) => {
                let is_judged = culprit.shown != Shown::Whole;
                let of_segment = |difference| {
                    if is_judged { Difference::of_outputs(difference) } else { Difference::Unknown }
                };
                let places = culprit.differences();
                places.map(|(place, difference)| (owned(place), of_segment(difference))).collect()
            }
            None => vec![(self.outputs.iter().cloned().collect(), Difference::Unknown)],
        });
        wrong.collect()
    }

    fn differing_outputs(&self, disagreement: &Disagreement) -> Vec<(Place, Difference)> {
        let named = |one: &OutputDifference| {
            let place = Place::from([self.outputs.get(one.output)?.clone()]);
            Some((place, Difference::of_outputs(one.difference)))
        };
        disagreement.outputs.iter().filter_map(named).collect()
    }

    /// Whether a finding that shows at `places` shows where `known`, a finding on the same case, lists it, and no other error. A case that has no
    /// segments does not tell where.
    pub fn is_at_places_of(&self, finding: &Finding, places: &Places, known: &Finding) -> bool {
        let is_of_one_name = finding.is_alike(known);
        if is_of_one_name && (finding.is_explained_apart(known) || finding.is_much_larger_than(known)) {
            return false;
        }
        let Some(first) = first_place(finding).filter(|_| !known.places().is_empty()) else { return true };
        // findings of campaigns do not list what is wrong behind the first node
        if finding.is_unexplained() && !known.wrong_at.is_empty() {
            unlisted(places, &[known]).is_empty() && much_larger(places, &[known]).is_empty()
        } else {
            first.iter().any(|name| known.places().contains(name.as_str()))
        }
    }

    /// Whether a finding that shows at `places` is known.
    ///
    /// It is if the same explains a known finding, whatever the operators. If it shows at one place, it also is if a known explanation may be behind it, or if
    /// two mistakes at once explain it and known findings show each. Otherwise known findings need its signature and its error. If nothing in the
    /// signature explains it, or backends disagree, they must also list all its places, with differences that are not much smaller, or one that lists none must have its case.
    pub fn recognize(&self, finding: &Finding, places: &Places) -> Recognized {
        let is_known_together = self.is_known_together(finding);
        let may_be_known = || self.known.iter().any(|known| may_show(finding, known));
        if places.len() <= 1 && (is_known_together || may_be_known())
            || self.known.iter().any(|known| is_explained_alike(known, finding))
        {
            return Recognized::Known;
        }
        let of_one_name = self.known.iter().filter(|known| finding.is_alike(known));
        let of_one_name: Vec<_> = of_one_name.collect();
        let is_alike = |known: &&Finding| finding.shows_error_of(known);
        let alike: Vec<_> = of_one_name.iter().copied().filter(is_alike).collect();
        if alike.is_empty() {
            let first = first_place(finding);
            let others = || places.keys().filter(|place| Some(*place) != first.as_ref()).cloned().collect();
            return match of_one_name.is_empty() {
                _ if is_known_together => Recognized::Elsewhere(others()),
                true => Recognized::New,
                false => Recognized::Otherwise,
            };
        }
        if !finding.is_told_by_place()
            || alike.iter().any(|known| known.places().is_empty() && known.case == finding.case)
        {
            return Recognized::Known;
        }
        let cloned = |places: Vec<&Place>| places.into_iter().cloned().collect();
        let (unlisted, much_larger) = (unlisted(places, &alike), much_larger(places, &alike));
        if places.is_empty() || !unlisted.is_empty() {
            Recognized::Elsewhere(cloned(unlisted))
        } else if !much_larger.is_empty() {
            Recognized::MuchLarger(cloned(much_larger))
        } else {
            Recognized::Known
        }
    }

    /// Whether two mistakes at once, or both directions of one, explain a finding, and known findings show each of them by itself.
    fn is_known_together(&self, finding: &Finding) -> bool {
        let signature = finding.current_signature();
        let alike = self.known.iter().filter(|known| is_alike(&known.current_signature(), &signature));
        let known: Vec<_> = alike.map(|known| known.diagnosis.clone()).collect();
        known_parts(&finding.diagnosis, &known).is_some()
    }
}

/// Whether `finding`, of a case by itself and without experiments, is `known`: the same explains both, or both have the same signature and show the
/// same error. If nothing in the signature explains them and `known` lists nodes of a model, one of them has to be that of `finding`.
pub fn is_known_as(finding: &Finding, known: &Finding) -> bool {
    is_explained_alike(known, finding)
        || may_show(finding, known)
        || has_signature_of(finding, known)
            && finding.shows_error_of(&without_experiments(known))
            && (!finding.is_unexplained() || is_listed(finding, known))
}

/// Whether both have the same signature, but for several runs of a case: what shows in one run shows in several.
fn has_signature_of(finding: &Finding, known: &Finding) -> bool {
    let (mut signature, of_known) = (finding.current_signature(), known.current_signature());
    if let (Cause::Graph(classes), Cause::Graph(of_known)) = (&mut signature.cause, &of_known.cause) {
        classes.retain(|class| class != SEVERAL_RUNS || of_known.contains(class));
    }
    of_known == signature
}

/// A finding without an explanation that experiments found.
fn without_experiments(known: &Finding) -> Finding {
    let mut known = known.clone();
    if matches!(known.signature.cause, Cause::Graph(_)) {
        known.diagnosis.clear();
    }
    known
}

/// Whether the node of `finding` is one that `known` lists, if it lists any.
fn is_listed(finding: &Finding, known: &Finding) -> bool {
    known.places().is_empty() || first_place(finding).is_none_or(|place| known.is_wrong_at(&place))
}

/// Whether the same explains wrong values of both findings, which may be of other operators. Alternatives have to be the same, too.
fn is_explained_alike(known: &Finding, finding: &Finding) -> bool {
    let names = |finding: &Finding| finding.diagnosis.iter().cloned().collect::<BTreeSet<_>>();
    are_of_values(known, finding) && !finding.diagnosis.is_empty() && names(known) == names(finding)
}

/// Whether both findings are of wrong values, or what follows from them, and differ in their causes at most.
fn are_of_values(known: &Finding, finding: &Finding) -> bool {
    let is_fallback = |finding: &Finding| matches!(finding.signature.cause, Cause::Fallback { .. });
    is_alike(&known.current_signature(), &finding.current_signature())
        && !is_fallback(known)
        && !is_fallback(finding)
}

/// Whether nothing explains `finding` and what explains `known` [may](twinfer_case::Diagnosis::possible) be why, whichever alternative that is.
fn may_show(finding: &Finding, known: &Finding) -> bool {
    let possible = finding.detailed_diagnosis().map(|diagnosis| &diagnosis.possible);
    let is_possible = |name: &String| possible.is_some_and(|possible| possible.contains(name));
    are_of_values(known, finding)
        && finding.diagnosis.is_empty()
        && !known.diagnosis.is_empty()
        && known.diagnosis.iter().all(is_possible)
}

/// Where the culprit of a finding is.
fn first_place(finding: &Finding) -> Option<Place> {
    finding.divergences.first()?.culprit.as_ref()?.places().next().map(owned)
}

fn owned(place: BTreeSet<&str>) -> Place {
    place.into_iter().map(str::to_owned).collect()
}

/// The places that none of the `known` findings lists, without those that have a smaller one in them.
fn unlisted<'p>(places: &'p Places, known: &[&Finding]) -> Vec<&'p Place> {
    let unlisted = |place: &&Place| !known.iter().any(|known| known.is_wrong_at(place));
    let has_smaller = |place: &Place| places.keys().any(|other| other.is_subset(place) && other != place);
    places.keys().filter(unlisted).filter(|place| !has_smaller(place)).collect()
}

/// The places that some of the `known` findings list, all with differences that are much smaller.
fn much_larger<'p>(places: &'p Places, known: &[&Finding]) -> Vec<&'p Place> {
    let exceeds = |known: &Finding, place: &Place, difference: Difference| match difference {
        Difference::Unknown => false,
        Difference::Finite(difference) => known.is_much_smaller_at(place, difference),
        Difference::Unbounded => known.is_much_smaller_at(place, f64::INFINITY),
    };
    let is_much_larger = |(place, difference): &(&Place, &Difference)| {
        let mut listing = known.iter().filter(|known| known.is_wrong_at(place)).peekable();
        listing.peek().is_some() && listing.all(|known| exceeds(known, place, **difference))
    };
    places.iter().filter(is_much_larger).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use std::iter;

    use twinfer_case::{
        Blame, CaseHash, Culprit, Description, Diagnosis, Divergence, JOURNAL_FORMAT, Kind, NamedNode,
        Observation, Outcome, Request, Shown, Stage, VariantInfo, Verdict, WrongSegment,
    };
    use twinfer_checks::{Judgement, record};
    use twinfer_onnx::DataType;

    use super::*;

    const VARIANT: &str = "ort:cpu";

    fn node(name: &str) -> NamedNode {
        NamedNode::new(name, "Conv", "")
    }

    /// Wrong values of the first of these nodes, with the others wrong behind it; of no node if there are none.
    fn divergence(nodes: &[&str]) -> Divergence {
        let culprit = nodes.split_first().map(|(first, behind)| Culprit {
            nodes: vec![node(first)],
            inputs: Vec::new(),
            output: format!("{first}_out"),
            shown: Shown::Alone,
            difference: None,
            behind: behind
                .iter()
                .map(|name| WrongSegment {
                    nodes: vec![node(name)],
                    output: format!("{name}_out"),
                    difference: None,
                })
                .collect(),
        });
        let variant = VARIANT.parse().expect("a variant");
        let detail = String::new();
        let wrong = Divergence::new(variant, Stage::Execute, Kind::WrongValues, Blame::Variant, detail);
        Divergence { culprit, ..wrong }
    }

    /// A finding that these mutants explain, or nothing if there are none, and whose case is wrong at the first of these nodes.
    fn finding(mutants: &[&str], nodes: &[&str]) -> Finding {
        let stored =
            include_str!("../../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2/finding.json");
        let mut finding: Finding = serde_json::from_str(stored).expect("a finding");
        finding.signature.cause = match mutants {
            [] => Cause::Graph(vec!["Conv".to_owned()]),
            mutants => Cause::Diagnosis(mutants.iter().map(|&mutant| mutant.to_owned()).collect()),
        };
        finding.divergences = vec![divergence(nodes)];
        finding
    }

    /// A case that is wrong at the first of these nodes and behind it, and shows these findings.
    fn shows(findings: &[&Finding], nodes: &[&str]) -> CaseRecord {
        let variant = VARIANT.parse().expect("a variant");
        let description = Description::new("ONNX Runtime", "1.31", Stage::Execute);
        let info = VariantInfo { variant, description, rung_of: None };
        let verdict = Verdict::Diverges(vec![divergence(nodes)]);
        let judgement = Judgement { verdict, notes: Vec::new(), compared: true };
        CaseRecord {
            format: JOURNAL_FORMAT,
            index: 0,
            case: findings[0].case,
            provenance: None,
            variants: vec![record(&info, &Observation::new(Stage::Execute, Outcome::Ok), judgement)],
            findings: findings.iter().map(|finding| finding.signature.slug()).collect(),
            masks: Vec::new(),
            reduced: Vec::new(),
            waits: false,
            open: Vec::new(),
            macs: 0,
        }
    }

    /// What becomes of the first of the findings that a case shows, if these are known.
    fn recognized(known: &[Finding], findings: &[&Finding], nodes: &[&str]) -> Recognized {
        let (records, outputs) = ([shows(findings, nodes)], ["y".to_owned()]);
        let recognition = Recognition::new(findings.iter().copied(), known, &records, &outputs);
        recognition.recognize(findings[0], &recognition.places(findings[0]))
    }

    fn elsewhere(places: &[&str]) -> Recognized {
        Recognized::Elsewhere(places.iter().map(|name| iter::once((*name).to_owned()).collect()).collect())
    }

    #[test]
    fn unexplained_finding_is_known_at_its_nodes() {
        let known = [finding(&[], &["c3"])];
        for (nodes, expected) in [
            (&["c3"][..], Recognized::Known),
            (&["c4"], elsewhere(&["c4"])),
            (&["c3", "c5"], elsewhere(&["c5"])),
            (&["c2", "c3", "c5"], elsewhere(&["c2", "c5"])),
        ] {
            assert_eq!(recognized(&known, &[&finding(&[], &nodes[..1])], nodes), expected, "{nodes:?}");
        }
        let both = [Finding { wrong_at: vec!["c3".to_owned(), "c5".to_owned()], ..finding(&[], &["c3"]) }];
        assert_eq!(recognized(&both, &[&finding(&[], &["c3"])], &["c3", "c5"]), Recognized::Known);
        assert_eq!(recognized(&[], &[&finding(&[], &["c3"])], &["c3"]), Recognized::New);
    }

    #[test]
    fn much_larger_error_at_a_later_node_is_new() {
        let found = finding(&[], &["c3"]);
        let places = |differences: &[(&str, Difference)]| -> Places {
            let place = |(name, difference): &(&str, _)| (Place::from([(*name).to_owned()]), *difference);
            differences.iter().map(place).collect()
        };
        let listing = |differences: &[(&str, Option<f64>)]| {
            let mut known = found.clone();
            known.list_places(differences.iter().map(|(name, size)| ((*name).to_owned(), *size)));
            known
        };
        let known = [listing(&[("c3", Some(0.5)), ("c5", Some(0.1))])];
        let recognized = |known: &[Finding], differences: &[(&str, Difference)]| {
            Recognition::new([&found], known, &[], &[]).recognize(&found, &places(differences))
        };
        let (half, larger) = (("c3", Difference::Finite(0.5)), ("c5", Difference::Finite(0.41)));
        let larger_at_c5 = [half, larger];
        let much_larger = || Recognized::MuchLarger(vec![Place::from(["c5".to_owned()])]);
        for (differences, expected) in [
            (&[half, ("c5", Difference::Finite(0.39))][..], Recognized::Known),
            (&[half, ("c5", Difference::Unknown)], Recognized::Known),
            (&larger_at_c5, much_larger()),
            (&[half, ("c5", Difference::Unbounded)], much_larger()),
            (&[("c4", Difference::Finite(0.1)), larger], elsewhere(&["c4"])),
        ] {
            assert_eq!(recognized(&known, differences), expected, "{differences:?}");
        }
        let older = [listing(&[("c3", None), ("c5", None)])];
        assert_eq!(recognized(&older, &larger_at_c5), Recognized::Known, "it does not say how large");
        let two = [known[0].clone(), listing(&[("c5", Some(0.4))])];
        assert_eq!(recognized(&two, &larger_at_c5), Recognized::Known, "both were adopted");
    }

    #[test]
    fn finding_of_the_same_name_with_another_error_is_new() {
        let of_size = |mutants: &[&str], largest: Option<f64>| {
            let mut finding = finding(&[], &["c3"]);
            finding.diagnosis = mutants.iter().map(|&mutant| mutant.to_owned()).collect();
            let diagnosis = Diagnosis {
                mutants: Vec::new(),
                residual: None,
                unexplained: largest,
                ..Diagnosis::default()
            };
            finding.divergences[0].diagnosis = Some(diagnosis);
            finding
        };
        let recognized = |known: &[Finding], found: &Finding| recognized(known, &[found], &["c3"]);
        let (small, large, negated) =
            (of_size(&[], Some(0.4)), of_size(&[], Some(3.0)), of_size(&["conv-negated"], Some(3.0)));
        assert_eq!(recognized(std::slice::from_ref(&small), &small), Recognized::Known);
        assert_eq!(recognized(std::slice::from_ref(&small), &large), Recognized::Otherwise);
        assert_eq!(recognized(std::slice::from_ref(&large), &small), Recognized::Known);
        let unbounded = of_size(&[], None);
        assert_eq!(recognized(std::slice::from_ref(&large), &unbounded), Recognized::Otherwise);
        assert_eq!(recognized(std::slice::from_ref(&unbounded), &large), Recognized::Known);
        assert_eq!(recognized(std::slice::from_ref(&large), &negated), Recognized::Otherwise);
        assert_eq!(recognized(&[small, negated.clone()], &negated), Recognized::Known, "both were adopted");
    }

    /// What single nodes do not account for is another bug than theirs, as is what shows at a node only inside the model.
    #[test]
    fn finding_that_shows_under_other_conditions_is_new() {
        let shown = |shown: Shown, nodes: &[&str]| {
            let mut finding = finding(&[], &nodes[..1]);
            let culprit = finding.divergences[0].culprit.as_mut().expect("a culprit");
            (culprit.shown, culprit.nodes) = (shown, nodes.iter().map(|name| node(name)).collect());
            finding
        };
        let recognized = |known: &Finding, found: &Finding| {
            let places = first_place(found).map(|place| (place, Difference::Unknown)).into_iter().collect();
            Recognition::new([found], std::slice::from_ref(known), &[], &[]).recognize(found, &places)
        };
        let (alone, in_place) = (shown(Shown::Alone, &["c3"]), shown(Shown::InPlace, &["c3"]));
        let (whole, other) = (shown(Shown::Whole, &["c3", "c4"]), shown(Shown::Whole, &["c3", "c5"]));
        for (known, found, expected) in [
            (&alone, &whole, Recognized::Otherwise),
            (&alone, &in_place, Recognized::Otherwise),
            (&other, &whole, Recognized::Otherwise),
            (&whole, &whole, Recognized::Known),
            (&in_place, &in_place, Recognized::Known),
            (&in_place, &alone, Recognized::Known),
        ] {
            assert_eq!(recognized(known, found), expected);
        }
    }

    /// Experiments explain findings whose signatures name operators: those of a minimal case are fewer than those of a model.
    #[test]
    fn finding_with_a_known_explanation_is_known_whatever_its_operators() {
        let of = |operators: &[&str], edits: &[&str]| {
            let mut finding = finding(&[], &["c3"]);
            finding.signature.cause =
                Cause::Graph(operators.iter().map(|&operator| operator.to_owned()).collect());
            finding.diagnosis = edits.iter().map(|&edit| edit.to_owned()).collect();
            finding
        };
        let known = [of(&["Conv"], &["conv-bias-ignored"])];
        let found = |edits: &[&str]| recognized(&known, &[&of(&["Conv", "Relu"], edits)], &["c3"]);
        assert_eq!(found(&["conv-bias-ignored"]), Recognized::Known);
        assert_eq!(found(&["conv-bias-ignored", "conv-bias-halved"]), Recognized::New);
        assert_eq!(found(&["conv-bias-halved"]), Recognized::New);
        assert_eq!(found(&[]), Recognized::New);
    }

    #[test]
    fn finding_that_a_known_explanation_may_be_behind_is_known_at_one_node() {
        let of = |explained: &[&str], possible: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
            let mut finding = finding(explained, &["c3"]);
            finding.diagnosis = names(explained);
            finding.divergences[0].diagnosis =
                Some(Diagnosis { possible: names(possible), ..Diagnosis::default() });
            finding
        };
        let known = [of(&["bias-in-product-steps"], &[])];
        let found = |possible: &[&str], nodes| recognized(&known, &[&of(&[], possible)], nodes);
        assert_eq!(found(&["bias-in-product-steps"], &["c3"]), Recognized::Known);
        assert_eq!(found(&["bias-in-product-steps"], &["c3", "c5"]), Recognized::New);
        assert_eq!(found(&["bias-dropped"], &["c3"]), Recognized::New);
        let in_doubt = [of(&["bias-in-product-steps", "bias-dropped"], &[])];
        let found = recognized(&in_doubt, &[&of(&[], &["bias-dropped"])], &["c3"]);
        assert_eq!(found, Recognized::New, "it may be the other one");
    }

    #[test]
    fn two_known_mistakes_at_once_are_known() {
        let of = |mutant: &str| Finding { diagnosis: vec![mutant.to_owned()], ..finding(&[mutant], &["c3"]) };
        let both =
            Finding { diagnosis: vec!["pads-swapped+bias-dropped".to_owned()], ..finding(&[], &["c3"]) };
        let (pads, bias) = (of("pads-swapped"), of("bias-dropped"));
        assert_eq!(recognized(std::slice::from_ref(&pads), &[&both], &["c3"]), Recognized::New);
        let mut in_doubt = both.clone();
        in_doubt.diagnosis.push("pads-alike+bias-dropped".to_owned());
        let known = [pads.clone(), bias.clone()];
        assert_eq!(recognized(&known, &[&in_doubt], &["c3"]), Recognized::New, "either pair may be it");
        assert_eq!(recognized(&known, &[&both], &["c3", "c5"]), elsewhere(&["c5"]), "it may be another");
        assert_eq!(recognized(&known, &[&both], &["c3"]), Recognized::Known);
    }

    #[test]
    fn explained_finding_is_known_at_every_node() {
        let known = [finding(&["bias-dropped"], &["c3"])];
        assert_eq!(recognized(&known, &[&finding(&["bias-dropped"], &["c7"])], &["c7"]), Recognized::Known);
        assert_eq!(recognized(&known, &[&finding(&["bias-doubled"], &["c3"])], &["c3"]), Recognized::New);
        assert_eq!(recognized(&known, &[&finding(&[], &["c3"])], &["c3"]), Recognized::New);
    }

    #[test]
    fn nodes_of_explained_findings_are_no_places_of_another() {
        let (unexplained, explained) = (finding(&[], &["c5"]), finding(&["bias-dropped"], &["c3"]));
        let known = [unexplained.clone()];
        assert_eq!(recognized(&known, &[&unexplained, &explained], &["c3", "c5"]), Recognized::Known);
        assert_eq!(recognized(&known, &[&unexplained], &["c3", "c5"]), elsewhere(&["c3"]));
    }

    #[test]
    fn outputs_are_the_place_where_no_node_is_to_blame() {
        let unlocated = finding(&[], &[]);
        assert_eq!(recognized(&[finding(&[], &["c3"])], &[&unlocated], &[]), elsewhere(&["y"]));
        let listed = Finding { wrong_at: vec!["y".to_owned()], ..finding(&[], &[]) };
        assert_eq!(recognized(&[listed], &[&unlocated], &[]), Recognized::Known);
    }

    #[test]
    fn known_finding_without_places_is_known_in_its_case() {
        let unlocated = finding(&[], &[]);
        let request = Request { precision: DataType::Float, tf32: false };
        assert_eq!(recognized(std::slice::from_ref(&unlocated), &[&unlocated], &[]), Recognized::Known);
        let other_case = Finding { case: CaseHash::over(&[], &request, &[]), ..unlocated.clone() };
        assert_eq!(recognized(&[other_case], &[&unlocated], &[]), elsewhere(&["y"]));
    }

    #[test]
    fn case_of_a_finding_tells_only_the_nodes_that_it_lists() {
        let is_at = |known: &Finding, found: &Finding, nodes: &[&str]| {
            let (records, outputs) = ([shows(&[found], nodes)], ["y".to_owned()]);
            let recognition = Recognition::new([found], &[], &records, &outputs);
            recognition.is_at_places_of(found, &recognition.places(found), known)
        };
        let known = finding(&[], &["c3"]);
        assert!(is_at(&known, &finding(&[], &["c3"]), &["c3", "c5"]), "campaigns list the first node");
        assert!(!is_at(&known, &finding(&[], &["c4"]), &["c4"]));
        assert!(is_at(&known, &finding(&["bias-dropped"], &["c3"]), &["c3"]), "a later version explains it");
        assert!(!is_at(&known, &finding(&["bias-dropped"], &["c4"]), &["c4"]));
        assert!(is_at(&known, &finding(&[], &[]), &[]), "the case has no segments");
        let listed = Finding { wrong_at: vec!["c3".to_owned()], ..known };
        assert!(!is_at(&listed, &finding(&[], &["c3"]), &["c3", "c5"]));
    }

    /// Signatures of earlier versions did not name the check that failed.
    #[test]
    fn finding_stored_without_its_check_is_known() {
        let stored = include_str!(
            "../../../golden/cases/trt-build-build-failure-dequantizelinear-3d3c1d72/finding.json"
        );
        let known: Finding = serde_json::from_str(stored).expect("a finding");
        let shown = Finding { signature: known.current_signature(), ..known.clone() };
        assert_ne!(shown.signature, known.signature);
        assert!(is_known_as(&shown, &known) && shown.is_alike(&known));
        let mut elsewhere = shown;
        elsewhere.divergences[0].detail = "2: [optimizer.cpp::computeCosts::1] Error Code 1".to_owned();
        elsewhere.signature =
            known.signature.clone().with_check(elsewhere.divergences[0].failed_check().as_deref());
        assert!(!is_known_as(&elsewhere, &known));
    }
}
