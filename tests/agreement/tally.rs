use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use twinfer_case::{Case, CaseRecord, Divergence, Note, Regime, Run, TensorSource, Verdict};
use twinfer_generators::Family;
use twinfer_golden::{Arithmetic, evaluate, evaluate_as};

/// The verdicts on the cases of one family.
pub struct Tally {
    pub family: Family,
    exact: Verdicts,
    rounding: Verdicts,
    pub unspecified: BTreeMap<String, u64>,
    unsupported: BTreeMap<String, u64>,
    /// The largest share of its bound that a conforming output used.
    bound_used: f64,
    steps: Steps,
    /// Cases that differ as a limitation of ONNX Runtime says, by rule.
    documented: BTreeMap<String, u64>,
    /// Case by case, what differed and how.
    pub divergences: Vec<String>,
}

/// By how many quantization steps the elements of quantized outputs may be off, in the rounding regime.
#[derive(Default)]
struct Steps {
    elements: u64,
    /// One or more.
    one: u64,
    /// Two or more.
    two: u64,
}

impl Steps {
    const NONE: Self = Self { elements: 0, one: 0, two: 0 };

    fn take(&mut self, case: &Case) {
        let inputs = case.runs[0].inputs.iter().map(|source| source.tensor().expect("small").into_owned());
        let inputs: Vec<_> = inputs.collect();
        let Ok(evaluation) = evaluate_as(&case.graph, &inputs, Arithmetic::STRICT, &[]) else { return };
        for output in &evaluation.outputs {
            let Some(step) = output.quantization_step else { continue };
            for bound in &output.bound {
                self.elements += 1;
                self.one += u64::from(*bound > 0.5 * step);
                self.two += u64::from(*bound > 1.5 * step);
            }
        }
    }

    fn percent(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.elements.max(1) as f64
    }
}

/// How many cases of one data regime came to each verdict.
#[derive(Default)]
struct Verdicts {
    cases: u64,
    compared: u64,
    conforms: u64,
    vacuous: u64,
    unspecified: u64,
    unsupported: u64,
    diverges: u64,
}

impl Tally {
    pub const fn new(family: Family) -> Self {
        Self {
            family,
            exact: Verdicts::NONE,
            rounding: Verdicts::NONE,
            unspecified: BTreeMap::new(),
            unsupported: BTreeMap::new(),
            bound_used: 0.0,
            steps: Steps::NONE,
            documented: BTreeMap::new(),
            divergences: Vec::new(),
        }
    }

    /// Counts what the only variant did with a case.
    pub fn take(&mut self, case: &Case, record: &CaseRecord) {
        let variant = record.variants.last().expect("one variant is compared with golden");
        let verdicts = if is_exact(case) { &mut self.exact } else { &mut self.rounding };
        verdicts.cases += 1;
        if !is_exact(case) {
            self.steps.take(case);
        }
        verdicts.compared += u64::from(variant.compared);
        match &variant.verdict {
            Verdict::Conforms => verdicts.conforms += 1,
            Verdict::LeftOut(condition) => panic!("cases hang: {condition}"),
            Verdict::Vacuous => verdicts.vacuous += 1,
            Verdict::NoReference(reason) => panic!("golden computes no reference: {reason}"),
            Verdict::Unspecified(entry) => {
                verdicts.unspecified += 1;
                *self.unspecified.entry(entry.clone()).or_default() += 1;
            }
            Verdict::Unsupported(rule) => {
                verdicts.unsupported += 1;
                *self.unsupported.entry(rule.clone()).or_default() += 1;
            }
            Verdict::Diverges(divergences) => {
                verdicts.diverges += 1;
                self.take_divergences(divergences, record);
            }
        }
        for note in &variant.notes {
            if let Note::BoundUsed(share) = note {
                self.bound_used = self.bound_used.max(*share);
            }
        }
    }

    fn take_divergences(&mut self, divergences: &[Divergence], record: &CaseRecord) {
        let rule = |divergence: &Divergence| divergence.documented.clone();
        if let Some(rules) = divergences.iter().map(rule).collect::<Option<BTreeSet<_>>>() {
            for rule in rules {
                *self.documented.entry(rule).or_default() += 1;
            }
            return;
        }
        let index = record.provenance.as_ref().map_or(0, |provenance| provenance.index);
        let details = divergences.iter().map(|one| format!("{index}: {}: {}", one.kind, one.detail));
        self.divergences.extend(details);
    }

    pub const fn cases(&self) -> u64 {
        self.exact.cases + self.rounding.cases
    }

    pub const fn compared(&self) -> u64 {
        self.exact.compared + self.rounding.compared
    }
}

impl Verdicts {
    const NONE: Self =
        Self { cases: 0, compared: 0, conforms: 0, vacuous: 0, unspecified: 0, unsupported: 0, diverges: 0 };
}

/// Whether the values lie on grids on which nothing rounds: the inputs say so, and where they are integers, golden.
fn is_exact(case: &Case) -> bool {
    let regimes = case.runs[0].inputs.iter().filter_map(|source| match source {
        TensorSource::Recipe(recipe) => Some(recipe.regime),
        TensorSource::Data(_) => None,
    });
    match regimes.into_iter().find(|regime| !matches!(regime, Regime::Integers { .. })) {
        Some(regime) => matches!(regime, Regime::Exact { .. }),
        None => case.runs.iter().all(is_exact_for_golden(case)),
    }
}

fn is_exact_for_golden(case: &Case) -> impl Fn(&Run) -> bool {
    |run| {
        let tensor =
            |source: &TensorSource| source.tensor().expect("a generated tensor is small").into_owned();
        let inputs: Vec<_> = run.inputs.iter().map(tensor).collect();
        let evaluation = evaluate(&case.graph, &inputs).expect("golden knows generated graphs");
        let output = &evaluation.outputs[0];
        output.grid_step.is_some() || output.values.is_empty()
    }
}

/// The page of results.
pub fn text(seed: u64, count: u64, tallies: &[Tally]) -> String {
    let mut text = format!(
        "# Golden against ONNX Runtime\n\n\
         `TWINFER_FULL=1 TWINFER_RESULTS=docs/generated cargo test --release -p twinfer-tests --test agreement`\n\n\
         {count} cases per family, seed {seed}: golden against ONNX Runtime on the CPU without graph optimizations \
         (`ort:cpu,opt=off`). In the exact regime every deviation is a difference; in the rounding regime a difference \
         exceeds the error bound. *vacuous*: the bound is so wide that agreement means nothing.\n\n\
         | family | regime | cases | compared | conforms | vacuous | unspecified | unsupported | differs |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for tally in tallies {
        for (regime, verdicts) in [("exact", &tally.exact), ("rounding", &tally.rounding)] {
            let Verdicts { cases, compared, conforms, vacuous, unspecified, unsupported, diverges } =
                verdicts;
            line(
                &mut text,
                format_args!(
                    "| {} | {regime} | {cases} | {compared} | {conforms} | {vacuous} | {unspecified} | \
                     {unsupported} | {diverges} |",
                    tally.family
                ),
            );
        }
    }
    line(&mut text, format_args!("\n## Cases that golden does not decide\n"));
    line(
        &mut text,
        format_args!("| family | entry of the rules list, or documented limit of ONNX Runtime | cases |"),
    );
    line(&mut text, format_args!("| --- | --- | ---: |"));
    for tally in tallies {
        let kinds = [("unspecified", &tally.unspecified), ("unsupported", &tally.unsupported)];
        for (kind, (name, cases)) in
            kinds.iter().flat_map(|(kind, named)| named.iter().map(move |one| (kind, one)))
        {
            line(&mut text, format_args!("| {} | {kind}: {name} | {cases} |", tally.family));
        }
    }
    line(&mut text, format_args!("\n## Cases that differ as a limitation says\n"));
    line(
        &mut text,
        format_args!(
            "All cases that differ have the values that a limitation of ONNX Runtime predicts \
             ([rules with sources](../precision.md#limitations)).\n"
        ),
    );
    line(&mut text, format_args!("| family | limitation | cases |\n| --- | --- | ---: |"));
    for tally in tallies {
        for (rule, cases) in &tally.documented {
            line(&mut text, format_args!("| {} | {rule} | {cases} |", tally.family));
        }
    }
    line(&mut text, format_args!("\n## Use of the bound\n"));
    line(&mut text, format_args!("| family | largest share of a bound that was used |"));
    line(&mut text, format_args!("| --- | ---: |"));
    for Tally { family, bound_used, .. } in tallies {
        line(&mut text, format_args!("| {family} | {bound_used:.2} |"));
    }
    line(&mut text, format_args!("\n## Width of the bounds of quantized outputs\n"));
    line(
        &mut text,
        format_args!(
            "Elements of outputs that are quantized or dequantized, in the rounding regime, and the share that may be off by \
             one quantization step or more, and by two or more.\n"
        ),
    );
    line(&mut text, format_args!("| family | elements | one step or more | two or more |"));
    line(&mut text, format_args!("| --- | ---: | ---: | ---: |"));
    for Tally { family, steps, .. } in tallies.iter().filter(|tally| tally.steps.elements > 0) {
        let (one, two) = (steps.percent(steps.one), steps.percent(steps.two));
        line(&mut text, format_args!("| {family} | {} | {one:.3}% | {two:.3}% |", steps.elements));
    }
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes it");
}
