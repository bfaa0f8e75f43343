use std::sync::Arc;

use twinfer_case::{CaseRecord, EncodedCase, Provenance};
use twinfer_generators::{CaseStream, Family};

/// The cases of a journal, which does not hold them: they are generated again.
#[derive(Default)]
pub struct Regenerated {
    /// By where their cases come from.
    streams: Vec<(Provenance, CaseStream)>,
}

impl Regenerated {
    /// The case of a record with its family; `None` if no family made it, or if this version of twinfer makes another one.
    pub fn case(&mut self, record: &CaseRecord) -> Option<(Family, Arc<EncodedCase>)> {
        let provenance = record.provenance.as_ref()?;
        let family: Family = provenance.family.parse().ok()?;
        let case = EncodedCase::encode(self.stream(family, provenance).case(provenance.index)).ok()?;
        (case.task.hash == record.case).then_some((family, case))
    }

    fn stream(&mut self, family: Family, provenance: &Provenance) -> &CaseStream {
        let of_stream = Provenance { index: 0, ..provenance.clone() };
        let place = self.streams.iter().position(|(known, _)| *known == of_stream).unwrap_or_else(|| {
            let stream = family.stream(provenance.distribution, provenance.seed);
            self.streams.push((of_stream, stream));
            self.streams.len() - 1
        });
        &self.streams[place].1
    }
}
