use twinfer_case::{Blame, Disagreement, Divergence, Fallback, Kind, Note, Stage, Variant};

/// The divergences and notes of the checks so far.
pub struct Report<'a> {
    variant: &'a Variant,
    divergences: Vec<Divergence>,
    notes: Vec<Note>,
}

impl<'a> Report<'a> {
    pub const fn new(variant: &'a Variant) -> Self {
        Self { variant, divergences: Vec::new(), notes: Vec::new() }
    }

    /// Adds a divergence for which the variant is to blame.
    pub fn diverges(&mut self, stage: Stage, kind: Kind, detail: String) {
        self.push(stage, kind, Blame::Variant, detail);
    }

    /// Adds that the variant accepted a graph which breaks `rule`.
    pub fn accepts(&mut self, stage: Stage, rule: &str) {
        self.divergences.push(Divergence::accepted(self.variant.clone(), stage, rule));
    }

    /// Adds a difference between the variant and another one, of which it is unknown which is wrong, with the outputs that differ if any do.
    pub fn disagrees(&mut self, stage: Stage, detail: String, disagreement: Option<Disagreement>) {
        let variant = self.variant.clone();
        let divergence = Divergence::new(variant, stage, Kind::Disagree, Blame::Nobody, detail);
        self.divergences.push(Divergence { disagreement, ..divergence });
    }

    fn push(&mut self, stage: Stage, kind: Kind, blame: Blame, detail: String) {
        let variant = self.variant.clone();
        self.divergences.push(Divergence::new(variant, stage, kind, blame, detail));
    }

    /// Adds a precision fallback of an operator, with the rule that documents it, before the wrong values that follow from it.
    pub fn falls_back(&mut self, fallback: Fallback, documented: Option<String>, detail: String) {
        let (variant, kind) = (self.variant.clone(), Kind::PrecisionFallback);
        let divergence = Divergence {
            fallback: Some(fallback),
            documented,
            ..Divergence::new(variant, Stage::Build, kind, Blame::Variant, detail)
        };
        let place = self.divergences.iter().position(is_of_values).unwrap_or(self.divergences.len());
        self.divergences.insert(place, divergence);
    }

    /// Adds a note, which is no divergence.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    pub fn has_wrong_values(&self) -> bool {
        self.divergences.iter().any(is_of_values)
    }

    pub fn is_clean(&self) -> bool {
        self.divergences.is_empty()
    }

    pub fn into_parts(self) -> (Vec<Divergence>, Vec<Note>) {
        (self.divergences, self.notes)
    }
}

const fn is_of_values(divergence: &Divergence) -> bool {
    matches!(divergence.kind, Kind::WrongValues)
}
