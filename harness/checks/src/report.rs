use twinfer_case::{Blame, Divergence, Kind, Note, Stage, Variant};

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

    /// Something worth knowing that is no divergence.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    pub fn is_clean(&self) -> bool {
        self.divergences.is_empty()
    }

    pub fn into_parts(self) -> (Vec<Divergence>, Vec<Note>) {
        (self.divergences, self.notes)
    }
}
