//! Models are judged segment by segment, and the segment that is wrong is named.

mod bench;
mod chain;
mod overflow;
mod planted;

use std::{env, fs, path::Path};

use twinfer_case::{EncodedCase, Note, SegmentCounts, Shown, Task, Verdict, WrongSegment};
use twinfer_onnx::{DataType, Graph, PartialGraph, PartialNode, Tensor};
use twinfer_segments::{Cutting, Subject, examine};
use twinfer_workers::WorkerError;

use self::{
    bench::{Bench, Checked, changed},
    chain::{Error, Links, chain},
    overflow::quantized_overflow,
    planted::{Row, Table},
};

const DEPTH: usize = 8;
/// The most runs that finding a culprit takes: of the whole model without and with observed values, of the culprit, and of the segment
/// around it.
const MAX_RUNS: usize = 5;

fn counts(checked: &Checked) -> Option<&SegmentCounts> {
    checked.evaluated.judgement.notes.iter().find_map(|note| match note {
        Note::Segments(counts) => Some(counts),
        _ => None,
    })
}

#[test]
fn wrong_node_of_a_chain_is_the_culprit() {
    for variant in ["golden", "ort:cpu,opt=off", "ort:cpu,opt=all"] {
        let Some(bench) = Bench::start(variant) else { continue };
        for links in [Links::Convolutions, Links::Mixed, Links::Quantized] {
            let checked = bench.check(chain(links, DEPTH, 1), |graph| graph);
            assert_eq!(*checked.verdict(), Verdict::Conforms, "{variant} {links:?}");
            for error in [Error::ZeroedBias, Error::FlippedKernel, Error::SwappedChannels] {
                let checked = bench.check(chain(links, DEPTH, 1), |graph| error.plant(graph, 3));
                assert!(checked.blames("conv3"), "{variant} {links:?} {error:?}: {:?}", checked.culprit());
                assert!(checked.runs <= MAX_RUNS, "{variant} {links:?} {error:?}: {} runs", checked.runs);
            }
        }
    }
}

#[test]
fn nodes_that_are_wrong_only_together_are_found() {
    let Some(bench) = Bench::start("golden") else { return };
    for links in [Links::Convolutions, Links::Mixed] {
        let case = chain(links, DEPTH, 2);
        let graph = PartialGraph::from(&case.graph);
        // as a backend that fuses two links unless the value between them is observed
        let fusing = |task: &Task| {
            let is_observed = task.intermediates.iter().any(|name| name == "relu3_out");
            changed(task, |graph| {
                let has = |name: &str| graph.nodes.iter().any(|node| node.name == name);
                let fuses = !is_observed && has("conv3") && has("conv4");
                if fuses { Error::FlippedKernel.plant(graph, 4) } else { graph }
            })
        };
        let checked = bench.check_as(case, &graph, &fusing);
        assert!(checked.blames("conv3") && checked.blames("conv4"), "{links:?} {:?}", checked.culprit());
        assert_eq!(checked.culprit().expect("a culprit").shown, Shown::Fused);
    }
}

#[test]
fn quantized_kernel_that_is_wrong_is_blamed_as_one() {
    let Some(bench) = Bench::start("golden") else { return };
    let case = chain(Links::Quantized, DEPTH, 3);
    let graph = PartialGraph::from(&case.graph);
    // as a backend whose quantized kernel is wrong, and dissolves if a value inside it is observed
    let quantized = |task: &Task| {
        let is_inside =
            |name: &String| name == "conv3_out" || name == "relu3_out" || name == "dequantize6_out";
        let dissolves = task.intermediates.iter().any(is_inside);
        changed(task, |graph| if dissolves { graph } else { Error::ZeroedBias.plant(graph, 3) })
    };
    let checked = bench.check_as(case, &graph, &quantized);
    assert!(checked.blames("conv3"), "{:?}", checked.culprit());
    assert_eq!(checked.culprit().expect("a culprit").shown, Shown::Fused);
}

#[test]
fn wrong_segments_behind_the_culprit_are_named() {
    let Some(bench) = Bench::start("golden") else { return };
    let in_place = |task: &Task| task.clone();
    let unobserved = |task: &Task| task.clone().observing(Vec::new());
    let ways: [&dyn Fn(&Task) -> Task; 2] = [&in_place, &unobserved];
    for links in [Links::Convolutions, Links::Mixed, Links::Quantized] {
        for asks in ways {
            let case = chain(links, DEPTH, 3);
            let graph = PartialGraph::from(&case.graph);
            let wrong = |task: &Task| {
                changed(&asks(task), |graph| {
                    let graph = Error::FlippedKernel.plant(Error::FlippedKernel.plant(graph, 1), 4);
                    Error::FlippedKernel.plant(graph, DEPTH - 1)
                })
            };
            let checked = bench.check_as(case, &graph, &wrong);
            assert!(checked.blames("conv1"), "{links:?} {:?}", checked.culprit());
            let behind = &checked.culprit().expect("a culprit").behind;
            let has = |segment: &WrongSegment, name: &str| segment.nodes.iter().any(|node| node.name == name);
            assert_eq!(behind.len(), 2, "{links:?} {behind:?}");
            assert!(has(&behind[0], "conv4") && has(&behind[1], "conv7"), "{links:?} {behind:?}");
            assert_eq!(counts(&checked).expect("segments were judged").not_judged, [], "{links:?}");
        }
    }
}

fn has_several_convolutions(graph: &Graph) -> bool {
    graph.nodes.iter().filter(|node| node.op.is_convolution()).count() > 1
}

/// As a backend that flips the kernel of a convolution and, in models with several convolutions, that of another one.
fn flipping_more_in_models_of_several(graph: Graph, one: usize, other: usize) -> Graph {
    let has_several = has_several_convolutions(&graph);
    let graph = Error::FlippedKernel.plant(graph, one);
    if has_several { Error::FlippedKernel.plant(graph, other) } else { graph }
}

#[test]
fn wrong_segments_account_for_outputs() {
    for variant in ["golden", "ort:cpu,opt=off", "ort:cpu,opt=all"] {
        let Some(bench) = Bench::start(variant) else { continue };
        let in_place = |task: &Task| task.clone();
        let unobserved = |task: &Task| task.clone().observing(Vec::new());
        let ways: [&dyn Fn(&Task) -> Task; 2] = [&in_place, &unobserved];
        for (links, asks) in [Links::Convolutions, Links::Mixed, Links::Quantized]
            .into_iter()
            .flat_map(|links| ways.map(|asks| (links, asks)))
        {
            let case = chain(links, DEPTH, 7);
            let graph = PartialGraph::from(&case.graph);
            let everywhere = |task: &Task| {
                let change = |graph| Error::FlippedKernel.plant(Error::ZeroedBias.plant(graph, 1), 4);
                changed(&asks(task), change)
            };
            let checked = bench.check_as(case, &graph, &everywhere);
            assert!(checked.is_accounted_for, "{variant} {links:?}: {:?}", checked.wrong);
            assert!(checked.wrong.iter().all(|(_, stands_alone)| *stands_alone), "{:?}", checked.wrong);
        }
    }
}

#[test]
fn wrong_segments_do_not_account_for_what_only_the_whole_model_shows() {
    let Some(bench) = Bench::start("golden") else { return };
    // the outputs of deeper quantized chains are undecided
    for (links, depth) in [(Links::Convolutions, DEPTH), (Links::Mixed, DEPTH), (Links::Quantized, 2)] {
        let case = chain(links, depth, 7);
        let graph = PartialGraph::from(&case.graph);
        let unobserved = |task: &Task| task.clone().observing(Vec::new());
        let more = |graph: Graph| flipping_more_in_models_of_several(graph, 0, depth - 1);
        let never_observed = bench.check_as(case.clone(), &graph, &|task| changed(&unobserved(task), more));
        // as a backend that makes the second mistake only if no value is observed
        let hidden = bench.check_as(case, &graph, &|task| {
            if task.intermediates.is_empty() {
                changed(task, more)
            } else {
                changed(task, |graph| Error::FlippedKernel.plant(graph, 0))
            }
        });
        for checked in [never_observed, hidden] {
            assert!(!checked.is_accounted_for, "{links:?}");
            assert_eq!(checked.culprit().expect("a culprit").shown, Shown::Whole, "{links:?}");
            let names: Vec<_> = checked.wrong.iter().flat_map(|(culprit, _)| &culprit.nodes).collect();
            assert!(names.iter().any(|node| node.name == "conv0"), "{links:?} {names:?}");
        }
    }
}

#[test]
fn segment_that_is_wrong_in_another_way_inside_the_model_is_found_twice() {
    let Some(bench) = Bench::start("golden") else { return };
    for links in [Links::Convolutions, Links::Mixed] {
        let case = chain(links, DEPTH, 7);
        let graph = PartialGraph::from(&case.graph);
        let wrong = |task: &Task| {
            changed(task, |graph| {
                let has_several = has_several_convolutions(&graph);
                let graph = Error::FlippedKernel.plant(graph, 2);
                if has_several { Error::ZeroedBias.plant(graph, 2) } else { graph }
            })
        };
        let checked = bench.check_as(case, &graph, &wrong);
        assert!(checked.blames("conv2") && checked.is_accounted_for, "{links:?}: {:?}", checked.wrong);
        let mut alone: Vec<_> = checked.wrong.iter().map(|(_, stands_alone)| *stands_alone).collect();
        alone.sort_unstable();
        assert_eq!(alone, [false, true], "{links:?}: {:?}", checked.wrong);
    }
}

#[test]
fn backend_without_intermediates_is_judged_segment_by_segment() {
    let Some(bench) = Bench::start("golden") else { return };
    let unobserved = |task: &Task| task.clone().observing(Vec::new());
    for links in [Links::Convolutions, Links::Mixed, Links::Quantized] {
        let case = chain(links, DEPTH, 4);
        let graph = PartialGraph::from(&case.graph);
        let checked = bench.check_as(case.clone(), &graph, &unobserved);
        assert_eq!(*checked.verdict(), Verdict::Conforms, "{links:?}");
        let judged = counts(&checked).expect("segments were judged");
        assert!(judged.judged >= DEPTH as u64 && judged.not_judged.is_empty(), "{judged:?}");
        let wrong = |task: &Task| changed(&unobserved(task), |graph| Error::FlippedKernel.plant(graph, 5));
        let checked = bench.check_as(case, &graph, &wrong);
        assert!(checked.blames("conv5"), "{links:?} {:?}", checked.culprit());
    }
}

#[test]
fn value_returned_in_another_type_is_no_divergence() {
    let Some(bench) = Bench::start("golden") else { return };
    let case = EncodedCase::encode(chain(Links::Quantized, DEPTH, 6)).expect("a small case");
    let graph = PartialGraph::from(&case.case.graph);
    // as TensorRT, which returns what is marked as an output without a type of its own as 32-bit floats
    let in_floats = |task: &Task| {
        let mut observation = bench.observe(task);
        for value in observation.runs.iter_mut().flat_map(|run| &mut run.intermediates) {
            let (shape, numbers) = (value.tensor.shape.clone(), value.tensor.to_f64());
            value.tensor = Tensor::from_f64(DataType::Float, shape, &numbers).expect("numbers of a tensor");
        }
        Ok::<_, WorkerError>(observation)
    };
    let observation = &bench.observe(&case.task);
    let (info, task, cutting) = (bench.info(), &case.task, Cutting::Always);
    let subject = Subject { info, graph: &graph, task, observation, is_wrong: true, cutting, looked_into: 0 };
    let examination = examine(subject, &mut |task| in_floats(task)).expect("a worker answers");
    let culprit = examination.found.map(|found| found.culprit);
    assert_eq!(culprit, None);
    assert!(
        examination.counts.judged > 0 && examination.counts.not_judged.is_empty(),
        "{:?}",
        examination.counts
    );
}

#[test]
fn outputs_that_nothing_explains_are_explained_as_their_segment() {
    let Some(bench) = Bench::start("ort:cpu,opt=off") else { return };
    for is_read_twice in [false, true] {
        let checked = bench.check(quantized_overflow(is_read_twice), |graph| graph);
        let explained = |verdict: &Verdict| -> Vec<_> {
            let rules = verdict.divergences().iter().map(|divergence| divergence.documented.clone());
            rules.collect()
        };
        assert_eq!(explained(&checked.from_outputs), [None], "the sum need not overflow inside the model");
        assert_eq!(explained(checked.verdict()), [Some("ort-float16-quantizes-through-int32".to_owned())]);
        let culprit = checked.culprit().expect("a culprit");
        let names: Vec<_> = culprit.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!((names, culprit.shown), (vec!["quantize"], Shown::Alone));
    }
}

#[test]
fn unknown_operators_are_stepped_over() {
    let Some(bench) = Bench::start("golden") else { return };
    let case = chain(Links::Convolutions, DEPTH, 5);
    let mut graph = PartialGraph::from(&case.graph);
    for node in &mut graph.nodes {
        if let PartialNode::Known(known) = node
            && known.name == "relu2"
        {
            let (inputs, outputs) = (known.inputs.clone(), known.outputs.clone());
            *node =
                PartialNode::Unknown { name: "gelu".to_owned(), op_type: "Gelu".to_owned(), inputs, outputs };
        }
    }
    let checked = bench.check_as(case.clone(), &graph, &|task| task.clone());
    let judged = counts(&checked).expect("segments were judged");
    assert_eq!(judged.judged, DEPTH as u64);
    let unknown: Vec<_> = judged.not_judged.iter().map(|one| (one.reason.as_str(), one.nodes)).collect();
    assert_eq!(unknown, [("golden does not support Gelu", 1)]);
    let wrong = |task: &Task| changed(task, |graph| Error::ZeroedBias.plant(graph, 3));
    assert!(bench.check_as(case, &graph, &wrong).blames("conv3"));
}

/// `TWINFER_CHAINS` asks for as many chains in all, and `TWINFER_RESULTS` names a folder for the table.
#[test]
fn planted_errors_are_named_and_correct_chains_conform() {
    let count: Option<u64> =
        env::var("TWINFER_CHAINS").ok().map(|count| count.parse().expect("a number of chains"));
    let (depths, count): (&[usize], u64) = match count {
        Some(count) => (&[2, 4, 8, 16, 32, 64], count.div_ceil(36)),
        None => (&[2, 8], 3),
    };
    let mut rows = Vec::new();
    for variant in ["ort:cpu,opt=off", "ort:cpu,opt=all"] {
        let Some(bench) = Bench::start(variant) else { return };
        for links in [Links::Convolutions, Links::Mixed, Links::Quantized] {
            rows.extend(depths.iter().map(|&depth| Row::of(&bench, links, depth, count)));
        }
    }
    let table = Table(&rows).to_string();
    println!("{table}");
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        fs::write(folder.join("segments.md"), page(&table)).expect("the results folder can be written");
    }
    let sum = |part: fn(&Row) -> u64| rows.iter().map(part).sum::<u64>() as f64;
    assert!(rows.iter().all(|row| row.conforming == row.unchanged && row.missed == 0), "{table}");
    assert!(rows.iter().all(|row| row.unaccounted == 0), "wrong segments account for all outputs");
    assert!(sum(|row| row.named) >= 0.99 * sum(|row| row.clear), "{table}");
    assert!(sum(|row| row.accused) >= 0.99 * sum(|row| row.clear_at_outputs), "{table}");
}

fn page(table: &str) -> String {
    format!(
        "# Chains judged segment by segment\n\n\
         Chains of convolutions with activations, mixed with transposed convolutions, normalizations and additions, or between \
         quantizers, on ONNX Runtime; once as they are, and once with an error in one convolution: its bias is zero, its kernel is \
         flipped, its output channels are swapped, or one weight has the opposite sign. An error is *clear* if it exceeds three times \
         the bound of its segment, and *clear at the outputs* if it changes the outputs by more than 300 times what ONNX Runtime \
         deviates from golden; those chains are also checked as if ONNX Runtime returned no values inside the graph. *missed*: the \
         error exceeds the bound of its segment, and the chain conforms. To write this table again: `.ci/full segments`.\n\n{table}"
    )
}

#[test]
fn outputs_within_random_rounding_are_not_cut() {
    let Some(bench) = Bench::start("ort:cpu,opt=off") else { return };
    let depth = 24;
    let case = || chain(Links::Convolutions, depth, 6);
    let graph = PartialGraph::from(&case().graph);
    let unobserved = |task: &Task| task.clone().observing(Vec::new());
    let checked = bench.check_cutting(case(), &graph, &unobserved, |graph| Cutting::IfSuspicious(graph));
    assert_eq!((checked.verdict(), checked.runs), (&Verdict::Vacuous, 2));
    let wrong = |task: &Task| changed(&unobserved(task), |graph| Error::FlippedKernel.plant(graph, 7));
    let checked = bench.check_cutting(case(), &graph, &wrong, |graph| Cutting::IfSuspicious(graph));
    assert_eq!(checked.from_outputs, Verdict::Vacuous);
    assert!(checked.blames("conv7"), "{:?}", checked.culprit());
}
