//! What golden makes of generated values.

use twinfer_case::{Case, Regime, TensorSource};
use twinfer_generators::{Distribution, Family};
use twinfer_golden::{Evaluation, Mutant, evaluate, evaluate_with};

fn evaluations(case: &Case) -> impl Iterator<Item = Evaluation> + '_ {
    case.runs.iter().map(|run| {
        let tensor =
            |source: &TensorSource| source.tensor().expect("a generated tensor is small").into_owned();
        let inputs: Vec<_> = run.inputs.iter().map(tensor).collect();
        evaluate(&case.graph, &inputs).expect("golden knows generated graphs")
    })
}

fn is_exact(case: &Case) -> bool {
    let exact = |source: &TensorSource| matches!(source, TensorSource::Recipe(recipe) if matches!(recipe.regime, Regime::Exact { .. }));
    case.runs[0].inputs.iter().any(exact)
}

#[test]
fn golden_finds_every_case_of_the_exact_regime_exact() {
    for family in Family::VALID {
        let stream = family.stream(Distribution::Full, 3);
        let cases = (0..1500).map(|index| (index, stream.case(index))).filter(|(_, case)| is_exact(case));
        for (index, case) in cases {
            for evaluation in evaluations(&case) {
                let output = &evaluation.outputs[0];
                assert!(
                    output.grid_step.is_some() || output.values.is_empty(),
                    "{family} {index}: {case:#?}"
                );
            }
        }
    }
}

#[test]
fn few_cases_are_vacuous_or_unspecified() {
    for family in Family::VALID {
        let stream = family.stream(Distribution::Full, 3);
        let (mut runs, mut vacuous, mut unspecified) = (0, 0, 0);
        for index in 0..1000 {
            for evaluation in evaluations(&stream.case(index)) {
                runs += 1;
                vacuous += usize::from(evaluation.outputs[0].is_vacuous());
                unspecified += usize::from(!evaluation.unspecified.is_empty());
            }
        }
        assert!(vacuous * 50 < runs, "{family}: {vacuous} of {runs} runs are vacuous");
        assert!(unspecified * 20 < runs, "{family}: {unspecified} of {runs} runs are unspecified");
    }
}

#[test]
fn pads_at_the_wrong_ends_show_in_the_values() {
    let (mut padded, mut shown) = (0, 0);
    for family in [Family::Conv, Family::Deconv] {
        let stream = family.stream(Distribution::Full, 3);
        for case in (0..1000).map(|index| stream.case(index)).filter(has_asymmetric_pads) {
            let run = &case.runs[case.runs.len() - 1];
            let tensor =
                |source: &TensorSource| source.tensor().expect("a generated tensor is small").into_owned();
            let inputs: Vec<_> = run.inputs.iter().map(tensor).collect();
            let right = evaluate(&case.graph, &inputs).expect("golden knows generated graphs");
            let wrong = evaluate_with(&case.graph, &inputs, Some(Mutant::PadsSwapped))
                .expect("pads are all it changes");
            padded += usize::from(!right.outputs[0].values.is_empty());
            shown += usize::from(right.outputs[0].values != wrong.outputs[0].values);
        }
    }
    assert!(padded > 200 && shown * 100 >= padded * 97, "{shown} of {padded}");
}

fn has_asymmetric_pads(case: &Case) -> bool {
    case.graph.nodes.iter().filter_map(|node| node.op.window()).any(|window| {
        let (begin, end) = window.pads.map_or((&[][..], &[][..]), |pads| pads.split_at(pads.len() / 2));
        window.output_shape.is_none() && begin != end
    })
}
