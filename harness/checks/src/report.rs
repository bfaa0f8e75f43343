use twinfer_case::{Blame, Divergence, Fallback, Kind, Note, Stage, Variant};

/// What the checks found so far.
pub struct Report<'a> {
    variant: &'a Variant,
    divergences: Vec<Divergence>,
    notes: Vec<Note>,
}

impl<'a> Report<'a> {
    pub const fn new(variant: &'a Variant) -> Self {
        Self { variant, divergences: Vec::new(), notes: Vec::new() }
    }

    /// The variant is wrong in this way.
    pub fn diverges(&mut self, stage: Stage, kind: Kind, detail: String) {
        self.push(stage, kind, Blame::Variant, detail);
    }

    /// The variant and another one differ, and nobody knows which is wrong.
    pub fn disagrees(&mut self, stage: Stage, detail: String) {
        self.push(stage, Kind::Disagree, Blame::Nobody, detail);
    }

    fn push(&mut self, stage: Stage, kind: Kind, blame: Blame, detail: String) {
        let variant = self.variant.clone();
        self.divergences.push(Divergence::new(variant, stage, kind, blame, detail));
    }

    /// An operator runs in another precision, by the rule that documents it. It comes before the wrong values that follow.
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

    /// Something worth knowing that is no divergence.
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
