//! Enum values, which move between families.
//
// name here = name in C++ | value by family: TensorRT 8.4–9.2, 10, 11, TensorRT-RTX 1.3–1.4, 1.5–1.7;
// `-`: not there; `>= N`: since release number N

use super::{Availability, Family, UnknownValue, Unsupported, Version};

/// A row of an enum's table, for `verify-abi`.
#[derive(Clone, Copy, Debug)]
pub struct Enumerator {
    /// The enum as C++ spells it, without its namespace.
    pub class: &'static str,
    /// The enumerator as C++ spells it.
    pub name: &'static str,
    /// Its value and first release, by family in the order of [`Family::ALL`].
    pub values: [Option<(i32, u32)>; Family::ALL.len()],
}

impl Enumerator {
    /// The value in `version`; `None` if that release lacks the enumerator.
    pub fn value(&self, version: Version) -> Option<i32> {
        self.values[version.family() as usize]
            .filter(|&(_, since)| version.number() >= since)
            .map(|(value, _)| value)
    }

    /// The releases that have the enumerator.
    pub fn availability(&self) -> Availability {
        let mut families = Family::ALL.into_iter();
        Availability(self.values.map(|value| {
            let first = families.next().map_or(0, |family| family.first().number());
            value.map(|(_, since)| since.max(first))
        }))
    }
}

macro_rules! enums {
    ($($(#[$doc:meta])* $name:ident = $cpp:literal {
        $($variant:ident = $value_name:ident [$($value:tt $(>= $since:literal)?),*];)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[expect(missing_docs, reason = "the names are TensorRT's")]
            pub enum $name { $($variant),* }

            impl $name {
                const TABLE: &[Enumerator] = &[$(Enumerator {
                    class: $cpp,
                    name: stringify!($value_name),
                    values: [$(enums!(@value $value $(>= $since)?)),*],
                }),*];

                /// The enumerators of all releases.
                pub const ALL: &[Self] = &[$(Self::$variant),*];

                /// The name in C++.
                pub const fn name(self) -> &'static str {
                    Self::TABLE[self as usize].name
                }

                /// The releases that have it.
                pub fn availability(self) -> Availability {
                    Self::TABLE[self as usize].availability()
                }

                /// The value in `version`.
                pub fn value(self, version: Version) -> Result<i32, Unsupported> {
                    let row = &Self::TABLE[self as usize];
                    row.value(version).ok_or_else(|| Unsupported {
                        what: row.name,
                        version,
                        since: row.availability(),
                    })
                }

                /// The enumerator with this value in `version`.
                pub fn from_value(value: i32, version: Version) -> Result<Self, UnknownValue> {
                    let has_value = |this: &Self| this.value(version) == Ok(value);
                    let unknown = UnknownValue { what: $cpp, value, version };
                    Self::ALL.iter().copied().find(has_value).ok_or(unknown)
                }
            }
        )*

        /// Every enumerator of every enum.
        pub fn enumerators() -> impl Iterator<Item = &'static Enumerator> {
            [$($name::TABLE),*].into_iter().flatten()
        }
    };
    (@value -) => { None };
    (@value $value:literal) => { Some(($value, 0)) };
    (@value $value:literal >= $since:literal) => { Some(($value, $since)) };
}

enums! {
    /// The element type of a tensor.
    DataType = "DataType" {
        Float = kFLOAT [        0,            0,  0,  0,  0];
        Half  = kHALF  [        1,            1,  1,  1,  1];
        Int8  = kINT8  [        2,            2,  2,  2,  2];
        Int32 = kINT32 [        3,            3,  3,  3,  3];
        Bool  = kBOOL  [        4,            4,  4,  4,  4];
        Uint8 = kUINT8 [5 >= 8501,            5,  5,  5,  5];
        Fp8   = kFP8   [6 >= 8600,            6,  6,  6,  6];
        Bf16  = kBF16  [7 >= 9100,            7,  7,  7,  7];
        Int64 = kINT64 [8 >= 9100,            8,  8,  8,  8];
        Int4  = kINT4  [        -,            9,  9,  9,  9];
        Fp4   = kFP4   [        -, 10 >= 100800, 10, 10, 10];
        E8m0  = kE8M0  [        -, 11 >= 101200, 11, 11, 11];
    }
    /// The kind of a layer.
    LayerType = "LayerType" {
        Convolution       = kCONVOLUTION        [         0,            0,  0,           0,  0];
        FullyConnected    = kFULLY_CONNECTED    [         1,            -,  -,           -,  -];
        Activation        = kACTIVATION         [         2,            2,  2,           2,  2];
        Pooling           = kPOOLING            [         3,            3,  3,           3,  3];
        Lrn               = kLRN                [         4,            4,  4,           4,  4];
        Scale             = kSCALE              [         5,            5,  5,           5,  5];
        Softmax           = kSOFTMAX            [         6,            6,  6,           6,  6];
        Deconvolution     = kDECONVOLUTION      [         7,            7,  7,           7,  7];
        Concatenation     = kCONCATENATION      [         8,            8,  8,           8,  8];
        Elementwise       = kELEMENTWISE        [         9,            9,  9,           9,  9];
        Plugin            = kPLUGIN             [        10,           10, 10,          10, 10];
        Unary             = kUNARY              [        11,           11, 11,          11, 11];
        Padding           = kPADDING            [        12,           12, 12,          12, 12];
        Shuffle           = kSHUFFLE            [        13,           13, 13,          13, 13];
        Reduce            = kREDUCE             [        14,           14, 14,          14, 14];
        Topk              = kTOPK               [        15,           15, 15,          15, 15];
        Gather            = kGATHER             [        16,           16, 16,          16, 16];
        MatrixMultiply    = kMATRIX_MULTIPLY    [        17,           17, 17,          17, 17];
        RaggedSoftmax     = kRAGGED_SOFTMAX     [        18,           18, 18,          18, 18];
        Constant          = kCONSTANT           [        19,           19, 19,          19, 19];
        RnnV2             = kRNN_V2             [        20,            -,  -,           -,  -];
        Identity          = kIDENTITY           [        21,           20, 20,          20, 20];
        PluginV2          = kPLUGIN_V2          [        22,           21, 21,          21, 21];
        Slice             = kSLICE              [        23,           22, 22,          22, 22];
        Shape             = kSHAPE              [        24,           23, 23,          23, 23];
        ParametricRelu    = kPARAMETRIC_RELU    [        25,           24, 24,          24, 24];
        Resize            = kRESIZE             [        26,           25, 25,          25, 25];
        TripLimit         = kTRIP_LIMIT         [        27,           26, 26,          26, 26];
        Recurrence        = kRECURRENCE         [        28,           27, 27,          27, 27];
        Iterator          = kITERATOR           [        29,           28, 28,          28, 28];
        LoopOutput        = kLOOP_OUTPUT        [        30,           29, 29,          29, 29];
        Select            = kSELECT             [        31,           30, 30,          30, 30];
        Fill              = kFILL               [        32,           31, 31,          31, 31];
        Quantize          = kQUANTIZE           [        33,           32, 32,          32, 32];
        Dequantize        = kDEQUANTIZE         [        34,           33, 33,          33, 33];
        Condition         = kCONDITION          [        35,           34, 34,          34, 34];
        ConditionalInput  = kCONDITIONAL_INPUT  [        36,           35, 35,          35, 35];
        ConditionalOutput = kCONDITIONAL_OUTPUT [        37,           36, 36,          36, 36];
        Scatter           = kSCATTER            [        38,           37, 37,          37, 37];
        Einsum            = kEINSUM             [        39,           38, 38,          38, 38];
        Assertion         = kASSERTION          [        40,           39, 39,          39, 39];
        OneHot            = kONE_HOT            [41 >= 8501,           40, 40,          40, 40];
        NonZero           = kNON_ZERO           [42 >= 8501,           41, 41,          41, 41];
        GridSample        = kGRID_SAMPLE        [43 >= 8501,           42, 42,          42, 42];
        Nms               = kNMS                [44 >= 8501,           43, 43,          43, 43];
        ReverseSequence   = kREVERSE_SEQUENCE   [45 >= 8600,           44, 44,          44, 44];
        Normalization     = kNORMALIZATION      [46 >= 8600,           45, 45,          45, 45];
        Cast              = kCAST               [47 >= 8600,            1,  1,           1,  1];
        PluginV3          = kPLUGIN_V3          [         -,           46, 46,          46, 46];
        Squeeze           = kSQUEEZE            [         -, 47 >= 100700, 47,          47, 47];
        Unsqueeze         = kUNSQUEEZE          [         -, 48 >= 100700, 48,          48, 48];
        Cumulative        = kCUMULATIVE         [         -, 49 >= 100800, 49,          49, 49];
        DynamicQuantize   = kDYNAMIC_QUANTIZE   [         -, 50 >= 100800, 50,          50, 50];
        AttentionInput    = kATTENTION_INPUT    [         -, 51 >= 101401, 51,          51, 51];
        AttentionOutput   = kATTENTION_OUTPUT   [         -, 52 >= 101401, 52,          52, 52];
        RotaryEmbedding   = kROTARY_EMBEDDING   [         -, 53 >= 101501, 53,          53, 53];
        KvcacheUpdate     = kKVCACHE_UPDATE     [         -, 54 >= 101501, 54,          54, 54];
        Moe               = kMOE                [         -, 55 >= 101600, 55, 55 >= 10400, 55];
        DistCollective    = kDIST_COLLECTIVE    [         -, 56 >= 101600, 56, 56 >= 10400, 56];
    }
    /// How serious a log message is.
    Severity = "ILogger::Severity" {
        InternalError = kINTERNAL_ERROR [0, 0, 0, 0, 0];
        Error         = kERROR          [1, 1, 1, 1, 1];
        Warning       = kWARNING        [2, 2, 2, 2, 2];
        Info          = kINFO           [3, 3, 3, 3, 3];
        Verbose       = kVERBOSE        [4, 4, 4, 4, 4];
    }
    /// A property a network is created with.
    NetworkFlag = "NetworkDefinitionCreationFlag" {
        ExplicitBatch = kEXPLICIT_BATCH [        0, 0, -, 0, -];
        StronglyTyped = kSTRONGLY_TYPED [2 >= 9100, 1, 0, 1, 0];
    }
    /// A switch of a builder configuration.
    BuilderFlag = "BuilderFlag" {
        Fp16                       = kFP16                         [         0,            0,  -,  0,  -];
        Int8                       = kINT8                         [         1,            1,  -,  1,  -];
        Debug                      = kDEBUG                        [         2,            2,  2,  2,  2];
        GpuFallback                = kGPU_FALLBACK                 [         3,            3,  3,  3,  3];
        Refit                      = kREFIT                        [         5,            4,  4,  4,  4];
        DisableTimingCache         = kDISABLE_TIMING_CACHE         [         6,            5,  5,  5,  5];
        Tf32                       = kTF32                         [         7,            6,  6,  6,  6];
        SparseWeights              = kSPARSE_WEIGHTS               [         8,            7,  7,  7,  7];
        ObeyPrecisionConstraints   = kOBEY_PRECISION_CONSTRAINTS   [        10,            9,  -,  9,  -];
        PreferPrecisionConstraints = kPREFER_PRECISION_CONSTRAINTS [        11,           10,  -, 10,  -];
        DirectIo                   = kDIRECT_IO                    [        12,           11, 11, 11, 11];
        RejectEmptyAlgorithms      = kREJECT_EMPTY_ALGORITHMS      [        13,           12,  -, 12,  -];
        EnableTacticHeuristic      = kENABLE_TACTIC_HEURISTIC      [14 >= 8501,            -,  -,  -,  -];
        VersionCompatible          = kVERSION_COMPATIBLE           [15 >= 8600,           13, 12, 13, 12];
        ExcludeLeanRuntime         = kEXCLUDE_LEAN_RUNTIME         [16 >= 8600,           14, 13, 14, 13];
        Fp8                        = kFP8                          [17 >= 8600,           15,  -, 15,  -];
        ErrorOnTimingCacheMiss     = kERROR_ON_TIMING_CACHE_MISS   [18 >= 9100,           16, 15, 16, 15];
        Bf16                       = kBF16                         [19 >= 9100,           17,  -, 17,  -];
        DisableCompilationCache    = kDISABLE_COMPILATION_CACHE    [20 >= 9100,           18, 17, 18, 17];
        StripPlan                  = kSTRIP_PLAN                   [         -,           19, 18, 19, 18];
        RefitIdentical             = kREFIT_IDENTICAL              [         -,           20, 19, 20, 19];
        WeightStreaming            = kWEIGHT_STREAMING             [         -,           21, 20, 21, 20];
        Int4                       = kINT4                         [         -, 22 >= 100100,  -, 22,  -];
        RefitIndividual            = kREFIT_INDIVIDUAL             [         -, 23 >= 100200, 22, 23, 22];
        StrictNans                 = kSTRICT_NANS                  [         -, 24 >= 100600, 23, 24, 23];
        MonitorMemory              = kMONITOR_MEMORY               [         -, 25 >= 100600, 24, 25, 24];
        Fp4                        = kFP4                          [         -, 26 >= 100800,  -, 26,  -];
        EditableTimingCache        = kEDITABLE_TIMING_CACHE        [         -, 27 >= 100800, 26, 27, 26];
        DistributiveIndependence   = kDISTRIBUTIVE_INDEPENDENCE    [         -, 28 >= 101200, 27, 28, 27];
        RequireUserAllocation      = kREQUIRE_USER_ALLOCATION      [         -,            -,  -,  -, 28];
    }
    /// A library that a layer may take its kernels from.
    TacticSource = "TacticSource" {
        Cublas               = kCUBLAS                 [        0, 0, -, 0, -];
        CublasLt             = kCUBLAS_LT              [        1, 1, -, 1, -];
        Cudnn                = kCUDNN                  [        2, 2, -, 2, -];
        EdgeMaskConvolutions = kEDGE_MASK_CONVOLUTIONS [        3, 3, 0, 3, 0];
        JitConvolutions      = kJIT_CONVOLUTIONS       [4 >= 8501, 4, 1, 4, 1];
    }
    /// A kind of memory whose use a build can limit.
    MemoryPoolType = "MemoryPoolType" {
        Workspace          = kWORKSPACE            [        0, 0, 0, 0, 0];
        DlaManagedSram     = kDLA_MANAGED_SRAM     [        1, 1, 1, 1, 1];
        DlaLocalDram       = kDLA_LOCAL_DRAM       [        2, 2, 2, 2, 2];
        DlaGlobalDram      = kDLA_GLOBAL_DRAM      [        3, 3, 3, 3, 3];
        TacticDram         = kTACTIC_DRAM          [4 >= 8600, 4, 4, 4, 4];
        TacticSharedMemory = kTACTIC_SHARED_MEMORY [        -, 5, 5, 5, 5];
    }
    /// The level of detail that an engine inspector reports.
    ProfilingVerbosity = "ProfilingVerbosity" {
        LayerNamesOnly = kLAYER_NAMES_ONLY [0, 0, 0, 0, 0];
        None           = kNONE             [1, 1, 1, 1, 1];
        Detailed       = kDETAILED         [2, 2, 2, 2, 2];
    }
    /// Selects the smallest, the most likely or the largest shape of an optimization profile.
    OptProfileSelector = "OptProfileSelector" {
        Min = kMIN [0, 0, 0, 0, 0];
        Opt = kOPT [1, 1, 1, 1, 1];
        Max = kMAX [2, 2, 2, 2, 2];
    }
    /// The operation of an element-wise layer.
    ElementWiseOperation = "ElementWiseOperation" {
        Sum      = kSUM       [ 0,  0,  0,  0,  0];
        Prod     = kPROD      [ 1,  1,  1,  1,  1];
        Max      = kMAX       [ 2,  2,  2,  2,  2];
        Min      = kMIN       [ 3,  3,  3,  3,  3];
        Sub      = kSUB       [ 4,  4,  4,  4,  4];
        Div      = kDIV       [ 5,  5,  5,  5,  5];
        Pow      = kPOW       [ 6,  6,  6,  6,  6];
        FloorDiv = kFLOOR_DIV [ 7,  7,  7,  7,  7];
        And      = kAND       [ 8,  8,  8,  8,  8];
        Or       = kOR        [ 9,  9,  9,  9,  9];
        Xor      = kXOR       [10, 10, 10, 10, 10];
        Equal    = kEQUAL     [11, 11, 11, 11, 11];
        Greater  = kGREATER   [12, 12, 12, 12, 12];
        Less     = kLESS      [13, 13, 13, 13, 13];
    }
    /// The function of an activation layer.
    ActivationType = "ActivationType" {
        Relu            = kRELU             [ 0,  0,  0,  0,  0];
        Sigmoid         = kSIGMOID          [ 1,  1,  1,  1,  1];
        Tanh            = kTANH             [ 2,  2,  2,  2,  2];
        LeakyRelu       = kLEAKY_RELU       [ 3,  3,  3,  3,  3];
        Elu             = kELU              [ 4,  4,  4,  4,  4];
        Selu            = kSELU             [ 5,  5,  5,  5,  5];
        Softsign        = kSOFTSIGN         [ 6,  6,  6,  6,  6];
        Softplus        = kSOFTPLUS         [ 7,  7,  7,  7,  7];
        Clip            = kCLIP             [ 8,  8,  8,  8,  8];
        HardSigmoid     = kHARD_SIGMOID     [ 9,  9,  9,  9,  9];
        ScaledTanh      = kSCALED_TANH      [10, 10, 10, 10, 10];
        ThresholdedRelu = kTHRESHOLDED_RELU [11, 11, 11, 11, 11];
        GeluErf         = kGELU_ERF         [ -, 12, 12, 12, 12];
        GeluTanh        = kGELU_TANH        [ -, 13, 13, 13, 13];
    }
    /// The operation of a pooling layer.
    PoolingType = "PoolingType" {
        Max             = kMAX               [0, 0, 0, 0, 0];
        Average         = kAVERAGE           [1, 1, 1, 1, 1];
        MaxAverageBlend = kMAX_AVERAGE_BLEND [2, 2, 2, 2, 2];
    }
    /// Whether a scale layer's coefficients apply to the whole tensor, to a channel or to an element.
    ScaleMode = "ScaleMode" {
        Uniform     = kUNIFORM     [0, 0, 0, 0, 0];
        Channel     = kCHANNEL     [1, 1, 1, 1, 1];
        Elementwise = kELEMENTWISE [2, 2, 2, 2, 2];
    }
    /// Whether an engine reads or writes a tensor.
    TensorIOMode = "TensorIOMode" {
        None   = kNONE   [0 >= 8501, 0, 0, 0, 0];
        Input  = kINPUT  [1 >= 8501, 1, 1, 1, 1];
        Output = kOUTPUT [2 >= 8501, 2, 2, 2, 2];
    }
    /// The memory, of the host or of the device, in which an engine expects a tensor.
    TensorLocation = "TensorLocation" {
        Device = kDEVICE [0, 0, 0, 0, 0];
        Host   = kHOST   [1, 1, 1, 1, 1];
    }
    /// The output format of an engine inspector.
    LayerInformationFormat = "LayerInformationFormat" {
        Oneline = kONELINE [0, 0, 0, 0, 0];
        Json    = kJSON    [1, 1, 1, 1, 1];
    }
    /// When an execution context allocates device memory.
    ContextAllocation = "ExecutionContextAllocationStrategy" {
        Static          = kSTATIC            [-, 0, 0, 0, 0];
        OnProfileChange = kON_PROFILE_CHANGE [-, 1, 1, 1, 1];
        UserManaged     = kUSER_MANAGED      [-, 2, 2, 2, 2];
    }
    /// A GPU generation that an engine is built for.
    ComputeCapability = "ComputeCapability" {
        None    = kNONE    [-, -, -,   0,   0];
        Current = kCURRENT [-, -, -,   1,   1];
        Sm75    = kSM75    [-, -, -,  75,  75];
        Sm80    = kSM80    [-, -, -,  80,  80];
        Sm86    = kSM86    [-, -, -,  86,  86];
        Sm89    = kSM89    [-, -, -,  89,  89];
        Sm120   = kSM120   [-, -, -, 120, 120];
        Sm121   = kSM121   [-, -, -,   -, 121];
    }
    /// The kind of an error of the ONNX parser.
    ParserErrorCode = "nvonnxparser::ErrorCode" {
        Success                 = kSUCCESS                   [         0,  0,  0,  0,  0];
        InternalError           = kINTERNAL_ERROR            [         1,  1,  1,  1,  1];
        MemAllocFailed          = kMEM_ALLOC_FAILED          [         2,  2,  2,  2,  2];
        ModelDeserializeFailed  = kMODEL_DESERIALIZE_FAILED  [         3,  3,  3,  3,  3];
        InvalidValue            = kINVALID_VALUE             [         4,  4,  4,  4,  4];
        InvalidGraph            = kINVALID_GRAPH             [         5,  5,  5,  5,  5];
        InvalidNode             = kINVALID_NODE              [         6,  6,  6,  6,  6];
        UnsupportedGraph        = kUNSUPPORTED_GRAPH         [         7,  7,  7,  7,  7];
        UnsupportedNode         = kUNSUPPORTED_NODE          [         8,  8,  8,  8,  8];
        UnsupportedNodeAttr     = kUNSUPPORTED_NODE_ATTR     [ 9 >= 9100,  9,  9,  9,  9];
        UnsupportedNodeInput    = kUNSUPPORTED_NODE_INPUT    [10 >= 9100, 10, 10, 10, 10];
        UnsupportedNodeDatatype = kUNSUPPORTED_NODE_DATATYPE [11 >= 9100, 11, 11, 11, 11];
        UnsupportedNodeDynamic  = kUNSUPPORTED_NODE_DYNAMIC  [12 >= 9100, 12, 12, 12, 12];
        UnsupportedNodeShape    = kUNSUPPORTED_NODE_SHAPE    [13 >= 9100, 13, 13, 13, 13];
        RefitFailed             = kREFIT_FAILED              [         -, 14, 14, 14, 14];
    }
}
