//! The types that all crates of twinfer share: what is run ([`Case`]), what a backend did with it ([`Observation`]), what
//! the checks conclude ([`Verdict`]), what a campaign reports ([`Event`]) and what it keeps ([`CaseRecord`], [`Finding`]).
//!
//! The types hold data and their own invariants; they run no backend and compute no reference.
//!
//! ```
//! use twinfer_case::{Outcome, Refusal, Stage, Variant};
//!
//! let variant: Variant = "ort:cpu,opt=off".parse()?;
//! assert_eq!(variant.library().as_deref(), Some("onnxruntime"));
//!
//! let outcome = Outcome::rejected("InvalidGraph: no kernel for dilations");
//! assert_eq!(outcome.error().and_then(|error| error.code()), Some("InvalidGraph"));
//! assert!(Refusal::with_words(Stage::Parse, "dilations").matches(Stage::Parse, &outcome));
//! # Ok::<(), twinfer_case::InvalidVariant>(())
//! ```

mod arithmetic;
mod backend_error;
mod backend_name;
mod backend_version;
mod blindness;
mod capability;
mod case;
mod case_file;
mod case_text;
mod comparisons;
mod condition;
mod culprit;
mod declared_inputs;
mod diagnosis;
mod disagreement;
mod distribution;
mod encoded_case;
mod event;
mod fact;
mod failed_check;
mod fallback;
mod file;
mod filling;
mod finding;
mod finding_severity;
mod generated_inputs;
mod ladder;
mod library;
mod memory_mode;
mod observation;
mod option_key;
mod own_model;
mod printable;
mod processor_use;
mod quantizer;
mod reach;
mod recipe;
mod record;
mod repeated_outcome;
mod rule_name;
mod run_end;
mod same_configuration;
mod screening;
mod shard;
mod short_decimals;
mod signature;
mod summary;
mod task;
mod topic;
mod trigger;
mod trust;
mod variant;
mod verdict;
mod worker_limits;
mod workload;

pub use arithmetic::{Algorithms, Arithmetic, Operands, Singles, Subnormals, Sums};
pub use backend_error::BackendError;
pub use backend_name::{BackendName, DeviceNeed, Program};
pub use backend_version::BackendVersion;
pub use blindness::Blindness;
pub use capability::{
    Capability, Description, DeviceUse, Effect, FloatPrecision, Limitation, Quantization,
    QuantizationPromise, Refusal,
};
pub use case::{
    Case, CaseHash, Expectation, InvalidHash, Provenance, Recipe, Regime, Request, Run, TensorSource,
};
pub use case_file::{CASE_FORMAT, CaseFile, MalformedCase};
pub use comparisons::{Comparisons, Uncompared, UncomparedReason};
pub use condition::Condition;
pub use culprit::{BlindSegment, Culprit, NamedNode, NotJudged, SegmentCounts, Shown, WrongSegment};
pub use declared_inputs::{UnfitInputs, ensure_declared};
pub use diagnosis::{Diagnosis, Magnitude, ReproducingMutant};
pub use disagreement::{Disagreement, OutputDifference};
pub use distribution::{Distribution, UnknownDistribution};
pub use encoded_case::{EncodedCase, OversizedCase};
pub use event::{Event, Investigating, MemoryGrowth, StartingWorkers};
pub use fact::{Axes, Fact, Property, Quantity, Relation};
pub use fallback::{Fallback, FallbackReason, FallbackValues};
pub use file::{
    LaterFormat, MAX_FILE_BYTES, check_format, check_line, open_file, read_file, read_file_in, read_line,
    read_part_in,
};
pub use filling::{Fillable, Filling, OutputFilling};
pub use finding::{CaseSize, FINDING_FORMAT, Finding, Sighting};
pub use finding_severity::FindingSeverity;
pub use generated_inputs::{GeneratedInputs, UnfitModel};
pub use ladder::{InvalidLadder, Ladder, Percent};
pub use library::{Libraries, LibraryDifference, LibraryFileInfo, LibraryInfo};
pub use memory_mode::{MemoryMode, PoisonPattern, UnknownMemoryMode};
pub use observation::{
    ChosenPrecision, LayerInfo, LogLine, MemoryKind, NamedTensor, Observation, OutOfBoundsWrite, Outcome,
    PrecisionSource, RunOutput, Severity, Stage, Timing,
};
pub use option_key::{OptionKey, OptionValue};
pub use printable::{MOST_CHARACTERS, printable, printable_json, printable_line, printable_message};
pub use processor_use::ProcessorUse;
pub use reach::Reach;
pub use recipe::{MAX_CASE_ELEMENTS, OversizedRecipe, materialize};
pub use record::{
    Budget, CaseRecord, Continuation, DeviceMemory, Guise, JOURNAL_FORMAT, JournalEnd, KnownFindings,
    Machine, Mask, Note, QuantizedExecution, ReducedCase, RunInfo, RunTotals, Settings, VariantInfo,
    VariantRecord, WorkerBound, Workforce,
};
pub use repeated_outcome::{CaseOutcome, Circumstance, Ending, RepeatedOutcome};
pub use run_end::RunEnd;
pub use same_configuration::SameConfiguration;
pub use shard::{InvalidShard, Shard};
pub use signature::{Cause, Signature};
pub use summary::{FindingCount, MaskCount, OpenPlace, Summary, VariantSummary};
pub use task::Task;
pub use topic::{TOPIC_FORMAT, Topic};
pub use trigger::{Tally, Trigger};
pub use trust::{Trust, TrustedVariant, UntrustedPart, UntrustedVariant};
pub use variant::{InvalidVariant, Variant};
pub use verdict::{Blame, Divergence, Kind, Verdict};
pub use worker_limits::WorkerLimits;
