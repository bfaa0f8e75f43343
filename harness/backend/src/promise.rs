use twinfer_case::{Condition, QuantizationPromise};

/// The promise to run these operators on integers between quantizers, if all `further` conditions hold.
pub fn between_quantizers(
    rule: &str,
    source: &str,
    operators: &[&str],
    further: Vec<Condition>,
) -> QuantizationPromise {
    let operators = operators.iter().map(|name| Condition::Operator((*name).to_owned())).collect();
    let conditions = [Condition::Any(operators), Condition::BetweenQuantizers];
    QuantizationPromise {
        rule: rule.to_owned(),
        source: source.to_owned(),
        concerns: Condition::All(conditions.into_iter().chain(further).collect()),
    }
}
