//! *Telling witnesses*: the structure of a minimal case with values on which a candidate for its explanation would show. Where a mistake rarely
//! shows, as a rounding does behind a quantizer, other values confirm or refute it too seldom.

use twinfer_case::{Arithmetic, Case, EncodedCase};
use twinfer_checks::{Oracle, Prediction, is_visible, references};
use twinfer_golden::{Combination, Hypothesis};

use crate::{diverging_case::DivergingCase, trials::cost, witness::further_witnesses};

/// Candidates that witnesses are drawn for at most, the first that are listed.
const MOST_CANDIDATES: usize = 4;

/// Witnesses of a candidate at most.
const MOST_WITNESSES: usize = 10;

/// Values that are tried at most to find them.
const MOST_TRIED: u64 = 256;

/// What the evaluation of all of them may cost, as `cost` counts it.
const MOST_COST: u64 = 1 << 24;

/// Cases with the graph of a minimal case on which one of the listed mutants that reproduce it would show.
pub fn telling_witnesses(minimal: &DivergingCase, oracle: &Oracle, arithmetic: Arithmetic) -> Vec<Case> {
    let case = &minimal.evaluated.encoded.case;
    let tried = MOST_TRIED.min(MOST_COST / cost(&minimal.evaluated).max(1)) as usize;
    let shows = |candidate: Hypothesis, witness: &Case| {
        EncodedCase::encode(witness.clone()).is_ok_and(|encoded| {
            let references = references(&encoded, oracle, arithmetic);
            is_visible(candidate, None, &encoded, &references, arithmetic)
        })
    };
    let of_candidate = |candidate: Hypothesis| {
        let telling = further_witnesses(case).take(tried).filter(move |witness| shows(candidate, witness));
        telling.take(MOST_WITNESSES).collect::<Vec<_>>()
    };
    candidates(minimal, arithmetic).into_iter().take(MOST_CANDIDATES).flat_map(of_candidate).collect()
}

/// The listed mutants that reproduce a minimal case with evidence, and the combinations of which no part does.
fn candidates(minimal: &DivergingCase, arithmetic: Arithmetic) -> Vec<Hypothesis> {
    let reproduces = |listed: &Combination| {
        let prediction = Prediction::of(Hypothesis::Listed(*listed), &minimal.evaluated, arithmetic, None);
        matches!(prediction, Prediction::Reproduced(evidence) if evidence.bits > 0.0)
    };
    let precise = |listed: &Combination| !listed.is_coarse();
    let singles: Vec<_> = Combination::singles().filter(precise).filter(reproduces).collect();
    let is_new = |several: &Combination| !singles.iter().any(|single| single.is_part_of(several));
    let several = Combination::several().filter(precise).filter(is_new).filter(reproduces);
    let several: Vec<_> = several.collect();
    singles.into_iter().chain(several).map(Hypothesis::Listed).collect()
}
