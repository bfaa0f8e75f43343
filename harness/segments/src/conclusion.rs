//! What segments say about the verdict on the whole model.

use twinfer_case::{Divergence, Kind, Note, SegmentCounts, VariantInfo, Verdict};
use twinfer_checks::{Evaluated, Judgement};
use twinfer_onnx::ValueInfo;

use crate::{Examination, Found};

/// Adds what an examination shows to the conclusion about the whole model: the culprit, and how much was judged.
///
/// A model whose segments conform conforms, if only the width of its bound or an operator that golden does not know spoke against it. A
/// variant whose every node was judged is not to blame for what another one answers differently. Wrong outputs are explained as their segment is,
/// if that is [better explained](Found::explanation_of) and wrong segments account for the outputs.
pub fn conclude(judgement: &mut Judgement, info: &VariantInfo, examination: &Examination) {
    let Examination { counts, found, unaccounted, .. } = examination;
    if let Some(found) = found {
        match &mut judgement.verdict {
            Verdict::Diverges(divergences) if !disagree(divergences) => {
                if !divergences.iter().any(Divergence::concerns_values) {
                    divergences.extend(of_segment(info, found));
                }
                let explanation = found.explanation_of(divergences).filter(|_| unaccounted.is_none());
                for divergence in divergences.iter_mut().filter(|divergence| divergence.concerns_values()) {
                    divergence.culprit = unaccounted.clone().or_else(|| Some(found.culprit.clone()));
                    if let Some(explanation) = explanation {
                        divergence.kind = explanation.kind;
                        divergence.diagnosis.clone_from(&explanation.diagnosis);
                        divergence.documented.clone_from(&explanation.documented);
                    }
                }
            }
            // a segment that only falls back is not why variants disagree
            Verdict::Diverges(divergences) if found.keeps_values() => {
                divergences.extend(of_segment(info, found));
            }
            verdict => *verdict = Verdict::Diverges(of_segment(info, found).collect()),
        }
    } else if counts.judged > 0 && is_settled(&judgement.verdict, counts) {
        judgement.verdict = Verdict::Conforms;
    }
    if counts.judged > 0 {
        judgement.compared = true;
        judgement.notes.push(Note::Segments(counts.clone()));
    }
}

/// Whether a variant with this verdict on the whole model conforms if its segments do.
fn is_settled(verdict: &Verdict, counts: &SegmentCounts) -> bool {
    match verdict {
        Verdict::Unspecified(_) | Verdict::NoReference(_) => true,
        // a segment with a bound that is too wide says as little as the model does
        Verdict::Vacuous => counts.not_judged.is_empty(),
        Verdict::Diverges(divergences) => disagree(divergences) && counts.not_judged.is_empty(),
        Verdict::Conforms | Verdict::Unsupported(_) | Verdict::LeftOut(_) => false,
    }
}

/// Whether the divergences are differences between variants, of which it is unknown which is wrong.
fn disagree(divergences: &[Divergence]) -> bool {
    divergences.iter().all(|divergence| divergence.kind == Kind::Disagree)
}

/// The divergences of a segment, as those of the model.
fn of_segment(info: &VariantInfo, found: &Found) -> impl Iterator<Item = Divergence> {
    let outputs = &found.evaluated.encoded.case.graph.outputs;
    found.evaluated.divergences().iter().map(|divergence| Divergence {
        variant: info.variant.clone(),
        culprit: Some(found.culprit.clone()),
        detail: about_values(&divergence.detail, outputs),
        ..divergence.clone()
    })
}

/// A detail about a segment with the name of the value in place of the number of the segment's output, which is none of the model.
fn about_values(detail: &str, outputs: &[ValueInfo]) -> String {
    let named = detail.strip_prefix("output ").and_then(|numbered| {
        let (number, rest) = numbered.split_at(numbered.find(|digit: char| !digit.is_ascii_digit())?);
        let output = outputs.get(number.parse::<usize>().ok()?)?;
        Some(format!("value {:?}{rest}", output.name))
    });
    named.unwrap_or_else(|| detail.to_owned())
}

impl Found {
    /// The divergence of the segment that explains `divergences`, those of the whole model, better than they are explained: mutants explain
    /// the segment as a model of its own, and either nothing explains the outputs, where bounds are wider, or a limitation documents the segment
    /// alone.
    pub fn explanation_of(&self, divergences: &[Divergence]) -> Option<&Divergence> {
        let of_segment = self.evaluated.divergences().iter();
        let explained = of_segment.filter(|one| one.concerns_values()).find(|one| names_mutants(one))?;
        let is_better = are_unexplained(divergences)
            || explained.documented.is_some() && !divergences.iter().any(is_documented);
        (self.stands_alone && is_better).then_some(explained)
    }

    /// The segment as a case of its own, whose divergences name it.
    pub fn into_case(self) -> Evaluated {
        let Self { culprit, mut evaluated, .. } = self;
        if let Verdict::Diverges(divergences) = &mut evaluated.judgement.verdict {
            for divergence in divergences {
                divergence.culprit = Some(culprit.clone());
            }
        }
        evaluated
    }

    /// Whether it only runs in another precision than its graph asks for, with the right values.
    pub fn keeps_values(&self) -> bool {
        self.evaluated.divergences().iter().all(|one| one.fallback.is_some() && !one.concerns_values())
    }

    /// Whether `other` may be wrong for the same reason: a mutant explains both, or nothing explains either and the operators are the same.
    pub fn resembles(&self, other: &Self) -> bool {
        if self.keeps_values() != other.keeps_values() {
            return false;
        }
        let mutants = |found: &Self| -> Vec<String> {
            let diagnoses = found.evaluated.divergences().iter().filter_map(|one| one.diagnosis.clone());
            diagnoses.flat_map(|diagnosis| diagnosis.mutants).map(|mutant| mutant.name).collect()
        };
        let operators = |found: &Self| -> Vec<String> {
            let mut operators: Vec<_> =
                found.culprit.nodes.iter().map(|node| node.operator.clone()).collect();
            operators.sort_unstable();
            operators
        };
        match (mutants(self).as_slice(), mutants(other).as_slice()) {
            ([], []) => operators(self) == operators(other),
            (mine, others) => mine.iter().any(|name| others.contains(name)),
        }
    }
}

/// Whether outputs are wrong, and nothing explains them.
pub fn are_unexplained(divergences: &[Divergence]) -> bool {
    let of_values: Vec<_> = divergences.iter().filter(|divergence| divergence.concerns_values()).collect();
    let is_explained = |divergence: &Divergence| divergence.fallback.is_some() || names_mutants(divergence);
    !of_values.is_empty() && !of_values.into_iter().any(is_explained)
}

/// Whether a limitation of the backend documents a divergence.
pub const fn is_documented(divergence: &Divergence) -> bool {
    divergence.documented.is_some()
}

fn names_mutants(divergence: &Divergence) -> bool {
    divergence.diagnosis.as_ref().is_some_and(|diagnosis| !diagnosis.mutants.is_empty())
}

#[cfg(test)]
mod tests {
    use twinfer_case::{
        Blame, Case, Culprit, Diagnosis, EncodedCase, Expectation, NamedNode, Observation, Outcome,
        ReproducingMutant, Request, Shown, Stage,
    };
    use twinfer_onnx::{DataType, Graph};

    use super::*;

    #[test]
    fn details_of_a_segment_name_the_value() {
        let outputs = [ValueInfo { name: "c3".to_owned(), dtype: DataType::Float, shape: None }];
        let about = |detail: &str| about_values(detail, &outputs);
        assert_eq!(about("output 0: 3 of 4 elements differ"), "value \"c3\": 3 of 4 elements differ");
        assert_eq!(about("output 0 is [1] instead of [2]"), "value \"c3\" is [1] instead of [2]");
        assert_eq!(about("output 1: it has no such output"), "output 1: it has no such output");
        assert_eq!(about("the worker ended"), "the worker ended");
    }

    /// Wrong values that these mutants explain, and this rule documents.
    fn wrong_values(mutants: &[&str], rule: Option<&str>) -> Divergence {
        let mutant = |name: &&str| ReproducingMutant { name: (*name).to_owned(), clause: String::new() };
        let mutants = mutants.iter().map(mutant).collect();
        let variant = "ort:cpu".parse().expect("a variant");
        Divergence {
            diagnosis: Some(Diagnosis { mutants, ..Diagnosis::default() }),
            documented: rule.map(str::to_owned),
            ..Divergence::new(variant, Stage::Execute, Kind::WrongValues, Blame::Variant, String::new())
        }
    }

    fn found(divergence: Divergence, stands_alone: bool) -> Found {
        let graph = Graph {
            opset: 17,
            inputs: Vec::new(),
            initializers: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
        };
        let case = Case {
            graph,
            request: Request { precision: DataType::Float, tf32: false },
            runs: Vec::new(),
            expectation: Expectation::Valid,
            provenance: None,
        };
        let (nodes, inputs, output) = (Vec::new(), Vec::new(), String::new());
        Found {
            culprit: Culprit {
                nodes,
                inputs,
                output,
                shown: Shown::Alone,
                difference: None,
                behind: Vec::new(),
            },
            evaluated: Evaluated {
                encoded: EncodedCase::encode(case).expect("a small case"),
                references: Vec::new().into(),
                observation: Observation::new(Stage::Execute, Outcome::Ok),
                judgement: Judgement {
                    verdict: Verdict::Diverges(vec![divergence]),
                    notes: Vec::new(),
                    compared: true,
                },
            },
            stands_alone,
        }
    }

    #[test]
    fn vacuous_model_conforms_only_if_all_segments_were_judged() {
        let mut counts = SegmentCounts { judged: 1, ..SegmentCounts::default() };
        assert!(is_settled(&Verdict::Vacuous, &counts));
        let node = NamedNode::new("", "ConvTranspose", "y");
        counts.skip("its error bound is too wide", node);
        assert!(!is_settled(&Verdict::Vacuous, &counts));
    }

    #[test]
    fn segment_explains_what_outputs_do_not() {
        let explains = |found: Found, outputs| found.explanation_of(&[outputs]).is_some();
        let (unexplained, explained) = (|| wrong_values(&[], None), || wrong_values(&["a"], None));
        let documented = || wrong_values(&["b"], Some("rule"));
        assert!(explains(found(explained(), true), unexplained()));
        assert!(explains(found(documented(), true), explained()), "its bound is narrower");
        assert!(!explains(found(explained(), true), explained()));
        assert!(!explains(found(documented(), true), documented()));
        assert!(!explains(found(unexplained(), true), unexplained()));
        assert!(!explains(found(explained(), false), unexplained()), "it is right on its own");
    }
}
