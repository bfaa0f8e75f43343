//! Engines and their execution.
//
// offset of the object whose vtable holds it (0: its own) | name here = name in C++ | vtable slot by family:
// TensorRT 8.4–9.2, 10, 11, TensorRT-RTX 1.3–1.4, 1.5–1.7; `-`: not there; `>= N`: since release number N

use crate::sys::{Dims, DimsRef, Ptr, Str, method::classes};

classes! {
    /// Deserializes plans into engines.
    IRuntime in runtime {
         8 deserialize_cuda_engine_8    = deserializeCudaEngine(blob: Ptr, size: usize, plugin_factory: Ptr) -> Ptr [         2,  -,  -,  -,  -];
         8 deserialize_cuda_engine      = deserializeCudaEngine(blob: Ptr, size: usize) -> Ptr                      [         -,  3,  3,  3,  3];
         8 set_engine_host_code_allowed = setEngineHostCodeAllowed(allowed: bool)                                   [20 >= 8600, 21, 20, 21, 20];
         8 get_engine_host_code_allowed = getEngineHostCodeAllowed() -> bool                                        [21 >= 8600, 22, 21, 22, 21];
         0 delete                       = delete()                                                                  [         1,  1,  1,  1,  1];
    }
    /// An engine ready to run.
    ICudaEngine in cuda_engine {
         8 get_nb_layers                = getNbLayers() -> i32                                                       [         9,            3,  3,  3,  3];
         8 serialize                    = serialize() -> Ptr                                                         [        10,            4,  4,  4,  4];
         8 create_execution_context_8   = createExecutionContext() -> Ptr                                            [        11,            -,  -,  -,  -];
         8 create_execution_context     = createExecutionContext(strategy: i32) -> Ptr                               [         -,            5,  5,  5,  5];
         8 get_device_memory_size       = getDeviceMemorySize() -> usize                                             [        14,            7,  -,  -,  -];
         8 get_device_memory_size_v2    = getDeviceMemorySizeV2() -> i64                                             [         -, 52 >= 100100, 44, 50, 44];
         8 get_name                     = getName() -> Str                                                           [        21,            9,  7,  7,  7];
         8 get_nb_optimization_profiles = getNbOptimizationProfiles() -> i32                                         [        22,           10,  8,  8,  8];
         8 get_profiling_verbosity      = getProfilingVerbosity() -> i32                                             [        32,           17, 13, 15, 13];
         8 create_engine_inspector      = createEngineInspector() -> Ptr                                             [        33,           18, 14, 16, 14];
         8 get_tensor_shape             = getTensorShape(tensor_name: Str) -> Dims                                   [34 >= 8501,           19, 15, 17, 15];
         8 get_tensor_data_type         = getTensorDataType(tensor_name: Str) -> i32                                 [35 >= 8501,           20, 16, 18, 16];
         8 get_tensor_location          = getTensorLocation(tensor_name: Str) -> i32                                 [36 >= 8501,           21, 17, 19, 17];
         8 get_tensor_io_mode           = getTensorIOMode(tensor_name: Str) -> i32                                   [38 >= 8501,           23, 19, 21, 19];
         8 get_tensor_format_desc       = getTensorFormatDesc(tensor_name: Str) -> Str                               [42 >= 8501,           27, 23, 25, 23];
         8 get_profile_shape            = getProfileShape(tensor_name: Str, profile_index: i32, select: i32) -> Dims [44 >= 8501,           29, 25, 27, 25];
         8 get_nb_io_tensors            = getNbIOTensors() -> i32                                                    [45 >= 8501,           30, 26, 28, 26];
         8 get_io_tensor_name           = getIOTensorName(index: i32) -> Str                                         [46 >= 8501,           31, 27, 29, 27];
         0 delete                       = delete()                                                                   [         1,            1,  1,  1,  1];
    }
    /// The state of one execution of an engine.
    IExecutionContext in execution_context {
         8 set_name                       = setName(name: Str)                                                   [         9,  8,  8,  8,  8];
         8 get_name                       = getName() -> Str                                                     [        10,  9,  9,  9,  9];
         8 set_optimization_profile_async = setOptimizationProfileAsync(profile_index: i32, stream: Ptr) -> bool [        25, 17, 16, 17, 16];
         8 get_optimization_profile       = getOptimizationProfile() -> i32                                      [        14, 11, 11, 11, 11];
         8 all_input_dimensions_specified = allInputDimensionsSpecified() -> bool                                [        19, 12, 12, 12, 12];
         8 set_input_shape                = setInputShape(tensor_name: Str, dims: DimsRef) -> bool               [29 >= 8501, 21, 20, 21, 20];
         8 get_tensor_shape               = getTensorShape(tensor_name: Str) -> Dims                             [30 >= 8501, 22, 21, 22, 21];
         8 get_tensor_strides             = getTensorStrides(tensor_name: Str) -> Dims                           [31 >= 8501, 23, 22, 23, 22];
         8 set_tensor_address             = setTensorAddress(tensor_name: Str, data: Ptr) -> bool                [32 >= 8501, 24, 23, 24, 23];
         8 get_tensor_address             = getTensorAddress(tensor_name: Str) -> Ptr                            [33 >= 8501, 25, 24, 25, 24];
         8 infer_shapes                   = inferShapes(nb_max_names: i32, tensor_names: Ptr) -> i32             [35 >= 8501, 28, 27, 28, 27];
         8 get_max_output_size            = getMaxOutputSize(tensor_name: Str) -> i64                            [41 >= 8501, 34, 33, 34, 33];
         8 enqueue_v3                     = enqueueV3(stream: Ptr) -> bool                                       [44 >= 8501, 37, 36, 37, 36];
         0 delete                         = delete()                                                             [         1,  1,  1,  1,  1];
    }
    /// Describes the layers of an engine.
    IEngineInspector in engine_inspector {
         8 set_execution_context  = setExecutionContext(context: Ptr) -> bool                 [2, 3, 3, 3, 3];
         8 get_layer_information  = getLayerInformation(layer_index: i32, format: i32) -> Str [4, 5, 5, 5, 5];
         8 get_engine_information = getEngineInformation(format: i32) -> Str                  [5, 6, 6, 6, 6];
         0 delete                 = delete()                                                  [1, 1, 1, 1, 1];
    }
}
