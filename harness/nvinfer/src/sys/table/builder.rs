//! The builder and what it makes.
//
// offset of the object whose vtable holds it (0: its own) | name here = name in C++ | vtable slot by family:
// TensorRT 8.4–9.2, 10, 11, TensorRT-RTX 1.3–1.4, 1.5–1.7; `-`: not there; `>= N`: since release number N

use crate::sys::{Dims, Ptr, Str, method::classes};

classes! {
    /// Makes networks, configurations and engines.
    IBuilder in builder {
         8 platform_has_fast_fp16      = platformHasFastFp16() -> bool                            [ 4,  2,  -,  -,  -];
         8 platform_has_fast_int8      = platformHasFastInt8() -> bool                            [ 5,  3,  -,  -,  -];
         8 platform_has_tf32           = platformHasTf32() -> bool                                [16, 13,  -,  -,  -];
         8 create_builder_config       = createBuilderConfig() -> Ptr                             [ 9,  7,  5,  7,  5];
         8 create_network_v2           = createNetworkV2(flags: u32) -> Ptr                       [11,  8,  6,  8,  6];
         8 create_optimization_profile = createOptimizationProfile() -> Ptr                       [12,  9,  7,  9,  7];
         8 build_serialized_network    = buildSerializedNetwork(network: Ptr, config: Ptr) -> Ptr [17, 14, 11, 14, 11];
         8 is_network_supported        = isNetworkSupported(network: Ptr, config: Ptr) -> bool    [18, 15, 12, 15, 12];
         8 set_max_threads             = setMaxThreads(max_threads: i32) -> bool                  [20, 17, 14, 17, 14];
         8 get_max_threads             = getMaxThreads() -> i32                                   [21, 18, 15, 18, 15];
         8 reset                       = reset()                                                  [15, 12, 10, 12, 10];
         0 delete                      = delete()                                                 [ 1,  1,  1,  1,  1];
    }
    /// The settings with which an engine is built.
    IBuilderConfig in builder_config {
         0 set_min_timing_iterations      = setMinTimingIterations(min_timing: i32)                            [         2,            -,  -,  -,  -];
         0 get_min_timing_iterations      = getMinTimingIterations() -> i32                                    [         3,            -,  -,  -,  -];
         0 set_avg_timing_iterations      = setAvgTimingIterations(avg_timing: i32)                            [         4,            2,  2,  2,  2];
         8 get_avg_timing_iterations      = getAvgTimingIterations() -> i32                                    [         5,            3,  3,  3,  3];
         8 get_flags                      = getFlags() -> u32                                                  [        13,            9,  7,  7,  7];
         8 clear_flag                     = clearFlag(builder_flag: i32)                                       [        14,           10,  8,  8,  8];
         8 set_flag                       = setFlag(builder_flag: i32)                                         [        15,           11,  9,  9,  9];
         8 get_flag                       = getFlag(builder_flag: i32) -> bool                                 [        16,           12, 10, 10, 10];
         8 reset                          = reset()                                                            [        26,           22, 20, 20, 20];
         8 add_optimization_profile       = addOptimizationProfile(profile: Ptr) -> i32                        [        29,           25, 23, 23, 23];
         8 get_nb_optimization_profiles   = getNbOptimizationProfiles() -> i32                                 [        30,           26, 24, 24, 24];
         8 set_profiling_verbosity        = setProfilingVerbosity(verbosity: i32)                              [        31,           27, 25, 25, 25];
         8 get_profiling_verbosity        = getProfilingVerbosity() -> i32                                     [        32,           28, 26, 26, 26];
         8 set_tactic_sources             = setTacticSources(tactic_sources: u32) -> bool                      [        42,           38, 27, 27, 27];
         8 get_tactic_sources             = getTacticSources() -> u32                                          [        43,           39, 28, 28, 28];
         8 create_timing_cache            = createTimingCache(blob: Ptr, size: usize) -> Ptr                   [        44,           40, 29, 29, 29];
         8 set_timing_cache               = setTimingCache(cache: Ptr, ignore_mismatch: bool) -> bool          [        45,           41, 30, 30, 30];
         8 get_timing_cache               = getTimingCache() -> Ptr                                            [        46,           42, 31, 31, 31];
         8 set_memory_pool_limit          = setMemoryPoolLimit(pool: i32, pool_size: usize)                    [        47,           43, 32, 32, 32];
         8 get_memory_pool_limit          = getMemoryPoolLimit(pool: i32) -> usize                             [        48,           44, 33, 33, 33];
         8 set_builder_optimization_level = setBuilderOptimizationLevel(level: i32)                            [51 >= 8600,           47, 36, 36, 36];
         8 get_builder_optimization_level = getBuilderOptimizationLevel() -> i32                               [52 >= 8600,           48, 37, 37, 37];
         8 set_max_nb_tactics             = setMaxNbTactics(max_tactics: i32)                                  [         -, 60 >= 100400, 49, 49, 49];
         8 get_max_nb_tactics             = getMaxNbTactics() -> i32                                           [         -, 61 >= 100400, 50, 50, 50];
         8 set_nb_compute_capabilities    = setNbComputeCapabilities(max_nb_compute_capabilities: i32) -> bool [         -,            -,  -, 55, 55];
         8 get_nb_compute_capabilities    = getNbComputeCapabilities() -> i32                                  [         -,            -,  -, 56, 56];
         8 set_compute_capability         = setComputeCapability(compute_capability: i32, index: i32) -> bool  [         -,            -,  -, 57, 57];
         8 get_compute_capability         = getComputeCapability(index: i32) -> i32                            [         -,            -,  -, 58, 58];
         0 delete                         = delete()                                                           [         1,            1,  1,  1,  1];
    }
    /// The range of shapes that an engine accepts. The builder owns the profile.
    IOptimizationProfile in optimization_profile {
         8 set_dimensions = setDimensions(input_name: Str, select: i32, dims: Dims) -> bool [2, 2, 2, 2, 2];
         8 get_dimensions = getDimensions(input_name: Str, select: i32) -> Dims             [3, 3, 3, 3, 3];
         8 is_valid       = isValid() -> bool                                               [9, 9, 7, 9, 7];
    }
    /// Tactic timings that a later build can reuse.
    ITimingCache in timing_cache {
         8 serialize = serialize() -> Ptr                                       [2, 2, 2, 2, 2];
         8 combine   = combine(input_cache: Ptr, ignore_mismatch: bool) -> bool [3, 3, 3, 3, 3];
         8 reset     = reset() -> bool                                          [4, 4, 4, 4, 4];
         0 delete    = delete()                                                 [1, 1, 1, 1, 1];
    }
    /// Bytes that the library allocated.
    IHostMemory in host_memory {
         8 data   = data() -> Ptr   [2, 2, 2, 2, 2];
         8 size   = size() -> usize [3, 3, 3, 3, 3];
         8 kind   = type() -> i32   [4, 4, 4, 4, 4];
         0 delete = delete()        [1, 1, 1, 1, 1];
    }
}
