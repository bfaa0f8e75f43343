//! What an actor does wrong, and what the tests know of its timing and its devices.

use std::{fmt, str::FromStr, time::Duration};

/// The time that a slow actor takes to start.
pub const SLOW_START: Duration = Duration::from_millis(500);
/// The time that a slow actor takes per case.
pub const SLOW_CASE: Duration = Duration::from_millis(200);
/// The processes that a crowded device serves at once.
pub const PLACES: usize = 5;
/// The device that fails in the roles in which one device fails.
pub const FAILING_DEVICE: &str = "2";

/// The cases after which a process hangs that hangs once.
pub const HANGING_CASE: u64 = 1200;

/// Declares [`Role`] with the name of each role on the actor's command line.
macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal,)*) => {
        /// A way to answer that differs from golden, or to misbehave as a process.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Role {
            $($(#[$doc])* $role,)*
        }

        impl fmt::Display for Role {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self {
                    $(Self::$role => $name,)*
                })
            }
        }

        impl FromStr for Role {
            type Err = UnknownRole;

            fn from_str(text: &str) -> Result<Self, UnknownRole> {
                match text {
                    $($name => Ok(Self::$role),)*
                    _ => Err(UnknownRole),
                }
            }
        }
    };
}

/// The error of a text that is the name of no [`Role`].
#[derive(Debug)]
pub struct UnknownRole;

roles! {
    /// Answers as golden does.
    Honest = "honest",

    /// States that it sums in single precision and keeps subnormals, and errs by half of what one that does neither may.
    OverstatesPrecision = "overstates-precision",
    /// Returns wrong values if a convolution has a bias.
    IgnoresBias = "ignores-bias",
    /// Returns wrong values if a convolution has a bias, and the wrong shape otherwise.
    HasTwoBugs = "has-two-bugs",
    /// Has the defects of `defects.rs`.
    HasManyBugs = "has-many-bugs",
    /// Has the defects of `defects.rs`; until [`QUICK`](super::shared_folder::QUICK) exists, starts in [`SLOW_START`] and takes
    /// [`SLOW_CASE`] per case.
    HasManyBugsSlowly = "has-many-bugs-slowly",
    /// Has the defects of `defects.rs` and counts the processes that start.
    HasManyBugsAndCountsStarts = "has-many-bugs-and-counts-starts",
    /// Has the defects of `defects.rs`, on a device that serves [`PLACES`] processes at once.
    HasManyBugsOnCrowdedDevice = "has-many-bugs-on-crowded-device",
    /// Infers wrong shapes for a bias while it parses, and fails to build a graph of one node.
    MisinfersOrFailsToBuild = "misinfers-or-fails-to-build",
    /// Drops the bias, which a mutant of golden reproduces; if there is a Relu too, returns values that no mutant reproduces.
    DropsBiasAndMore = "drops-bias-and-more",
    /// Drops the bias, but if the graph is one node, not in every third run.
    DropsBiasUnsteadilyAlone = "drops-bias-unsteadily-alone",
    /// Returns wrong values for a bias at level 2.
    ErrsAtLevel2 = "errs-at-level-2",
    /// Returns wrong values for a bias at level 2, and otherwise the wrong shape for a Relu at every level.
    ErrsAtEveryLevel = "errs-at-every-level",
    /// Returns wrong values for a bias if the process has run a case with a Relu before.
    DependsOnHistory = "depends-on-history",
    /// Returns wrong values for a bias in each run of a case but the first of the process.
    DiffersOnRepeat = "differs-on-repeat",
    /// Returns wrong values for a bias in each run of a case but the first.
    ErrsInLaterRuns = "errs-in-later-runs",
    /// Returns wrong values for the first case of the process that has a bias.
    ErrsOnce = "errs-once",
    /// Writes behind a block for a bias if its memory is poisoned, that is, if there are guard bytes to notice it.
    WritesOutOfBounds = "writes-out-of-bounds",
    /// Returns wrong values for a bias if its memory is poisoned, as one that reads what it has not written.
    ReadsUnwrittenMemory = "reads-unwritten-memory",
    /// Leaves the last element of every output of a graph with a bias as the filled buffer holds it.
    LeavesUnwritten = "leaves-unwritten",
    /// Computes, as the last element of every output of a graph with a bias, what most filled buffers hold.
    ComputesFilling = "computes-filling",
    /// Refuses a graph with a bias with one of two errors, or not at all, as the supervisor has its scratch memory filled.
    ReadsScratch = "reads-scratch",

    /// Refuses a graph with a bias with one of two errors in turn, as the process goes on.
    AlternatesErrors = "alternates-errors",
    /// Refuses a graph with a bias, and names one failed condition for the first such case of the process, and another one for all others.
    NamesAnotherConditionOnceWarm = "names-another-condition-once-warm",
    /// Refuses a graph with a bias, and names one of two failed conditions: the first one to the first such case of the process, and to others as if by
    /// chance.
    NamesConditionsByHistory = "names-conditions-by-history",
    /// Is [`NamesAnotherConditionOnceWarm`](Self::NamesAnotherConditionOnceWarm), and returns the wrong shape for a Relu without a bias, but sleeps
    /// for ten minutes when it runs such a case again.
    NamesAnotherConditionAndHangsOnRepeat = "names-another-condition-and-hangs-on-repeat",
    /// Refuses a graph with a bias with one of two errors, or not at all, as the allocator fills memory.
    RefusesByFilling = "refuses-by-filling",

    /// Aborts if a convolution has a bias.
    Aborts = "aborts",
    /// Sleeps for ten minutes if a convolution has a bias.
    Hangs = "hangs",
    /// Sleeps for ten minutes in every case at every level of its ladder.
    HangsAtLevels = "hangs-at-levels",
    /// Sleeps for ten minutes in one case, after [`HANGING_CASE`] cases of all processes.
    HangsOnce = "hangs-once",
    /// Sleeps for ten minutes if a Conv is grouped and strided and padded to the same size: in one case in twenty of the family conv.
    HangsIfGroupedStridedAndSame = "hangs-if-grouped-strided-and-same",
    /// Sleeps for ten minutes in one case in 512, always the same ones.
    HangsRarely = "hangs-rarely",
    /// Returns wrong values for a bias, and sleeps for ten minutes when it runs such a case again; returns the wrong shape otherwise.
    HangsOnRepeatOrMisshapes = "hangs-on-repeat-or-misshapes",
    /// Prints to stdout if a convolution has a bias.
    GarblesPipe = "garbles-pipe",
    /// Enters the same stage again and again if a convolution has a bias.
    RepeatsStage = "repeats-stage",
    /// Starts a process in a session of its own that keeps the pipes open, and aborts, if a convolution has a bias.
    LeavesOrphan = "leaves-orphan",
    /// Starts a process in a session of its own that keeps the pipes open, and sleeps, if a convolution has a bias.
    HangsWithOrphan = "hangs-with-orphan",
    /// Starts a daemon that replaces itself by another one again and again, and aborts, if a convolution has a bias.
    StartsDaemons = "starts-daemons",
    /// Reads nothing after the handshake.
    NeverReads = "never-reads",
    /// Reads a byte at a time after the handshake, with a pause before each.
    ReadsSlowly = "reads-slowly",
    /// Answers a byte at a time, with a pause before each, if a convolution has a bias.
    AnswersSlowly = "answers-slowly",
    /// Closes its output and sleeps if a convolution has a bias.
    ClosesOutput = "closes-output",
    /// Sends a second handshake if a convolution has a bias.
    GreetsTwice = "greets-twice",
    /// Sends every answer a hundred times.
    FloodsOutput = "floods-output",
    /// Prints 64 MiB to stderr in every case.
    FloodsStderr = "floods-stderr",
    /// Sends nothing, not even the handshake.
    NeverGreets = "never-greets",
    /// Reports a fault of its environment if a convolution has a bias.
    ReportsFault = "reports-fault",
    /// Fails every case from the first with a bias on, as after a lost CUDA context.
    LosesContext = "loses-context",
    /// Keeps memory for every case.
    Leaks = "leaks",
    /// Reports a fault in place of the handshake.
    DoesNotStart = "does-not-start",

    /// Is [`IgnoresBias`](Self::IgnoresBias) and panics if another worker uses the device.
    NeedsExclusiveDevice = "needs-exclusive-device",
    /// Is [`ErrsAtLevel2`](Self::ErrsAtLevel2) and, if it has a level, panics if another worker uses the device.
    NeedsExclusiveDeviceAtLevels = "needs-exclusive-device-at-levels",
    /// Counts the cases of each process by its device.
    CountsCasesByDevice = "counts-cases-by-device",
    /// Loses [`FAILING_DEVICE`] after some cases: no worker starts there any more.
    LosesOneDevice = "loses-one-device",
    /// Loses every device after some cases, until the test repairs them.
    LosesAllDevices = "loses-all-devices",
    /// Aborts in every case on [`FAILING_DEVICE`].
    DiesOnOneDevice = "dies-on-one-device",
    /// Takes milliseconds per case.
    IsSlow = "is-slow",
    /// Takes an eighth of its device's memory per process, and milliseconds per case.
    FillsDevice = "fills-device",
}
