use std::sync::{Arc, Mutex, PoisonError};

use twinfer_case::{Algorithms, Arithmetic, EncodedCase};

use crate::{
    evidence::RunReference,
    oracle::{Oracle, references},
};

/// What the reference semantics give for a case, run by run, for every arithmetic that is asked for: the values are the same, and the
/// error bounds are those of the arithmetic. Each is computed once.
pub struct CaseReferences {
    encoded: Arc<EncodedCase>,
    oracle: Oracle,
    computed: Mutex<Vec<(Arithmetic, Arc<[RunReference]>)>>,
}

impl CaseReferences {
    /// The references of a case, none of which is computed yet.
    pub const fn new(encoded: Arc<EncodedCase>, oracle: Oracle) -> Self {
        Self { encoded, oracle, computed: Mutex::new(Vec::new()) }
    }

    /// The references for a backend of this arithmetic, with bounds that hold as long as it computes directly; empty for an invalid
    /// case.
    pub fn of(&self, arithmetic: Arithmetic) -> Arc<[RunReference]> {
        let direct = arithmetic.with(Algorithms::Direct);
        let mut computed = self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = computed.iter().find(|(known, _)| *known == direct) {
            return Arc::clone(known);
        }
        let found: Arc<[_]> = references(&self.encoded, &self.oracle, direct).into();
        computed.push((direct, Arc::clone(&found)));
        found
    }
}
