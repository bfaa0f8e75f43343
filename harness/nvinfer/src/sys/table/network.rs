//! Networks and their tensors.
//
// offset of the object whose vtable holds it (0: its own) | name here = name in C++ | vtable slot by family:
// TensorRT 8.4–9.2, 10, 11, TensorRT-RTX 1.3–1.4, 1.5–1.7; `-`: not there; `>= N`: since release number N

use crate::sys::{Dims, Ptr, Str, Weights, method::Count, method::classes};

classes! {
    /// A network being defined.
    INetworkDefinition in network_definition {
         8 add_input            = addInput(name: Str, kind: i32, dimensions: Dims) -> Ptr                                                                         [         2,  2,  2,  2,  2];
         8 mark_output          = markOutput(tensor: Ptr)                                                                                                         [         3,  3,  3,  3,  3];
         8 unmark_output        = unmarkOutput(tensor: Ptr)                                                                                                       [        32, 26, 26, 26, 26];
         8 add_activation       = addActivation(input: Ptr, kind: i32) -> Ptr                                                                                     [         6,  4,  4,  4,  4];
         8 add_concatenation    = addConcatenation(inputs: Ptr, nb_inputs: i32) -> Ptr                                                                            [        11,  8,  8,  8,  8];
         8 add_element_wise     = addElementWise(input1: Ptr, input2: Ptr, op: i32) -> Ptr                                                                        [        13,  9,  9,  9,  9];
         8 add_shuffle          = addShuffle(input: Ptr) -> Ptr                                                                                                   [        16, 11, 11, 11, 11];
         8 get_nb_layers        = getNbLayers() -> i32                                                                                                            [        17, 12, 12, 12, 12];
         8 get_layer            = getLayer(index: i32) -> Ptr                                                                                                     [        18, 13, 13, 13, 13];
         8 get_nb_inputs        = getNbInputs() -> i32                                                                                                            [        19, 14, 14, 14, 14];
         8 get_input            = getInput(index: i32) -> Ptr                                                                                                     [        20, 15, 15, 15, 15];
         8 get_nb_outputs       = getNbOutputs() -> i32                                                                                                           [        21, 16, 16, 16, 16];
         8 get_output           = getOutput(index: i32) -> Ptr                                                                                                    [        22, 17, 17, 17, 17];
         8 add_constant         = addConstant(dimensions: Dims, weights: Weights) -> Ptr                                                                          [        28, 23, 23, 23, 23];
         8 add_identity         = addIdentity(input: Ptr) -> Ptr                                                                                                  [        30, 24, 24, 24, 24];
         8 add_slice            = addSlice(input: Ptr, start: Dims, size: Dims, stride: Dims) -> Ptr                                                              [        34, 29, 29, 27, 27];
         8 set_name             = setName(name: Str)                                                                                                              [        35, 30, 30, 28, 28];
         8 get_name             = getName() -> Str                                                                                                                [        36, 31, 31, 29, 29];
         8 add_convolution_nd   = addConvolutionNd(input: Ptr, nb_output_maps: Count, kernel_size: Dims, kernel_weights: Weights, bias_weights: Weights) -> Ptr   [        42, 37, 37, 35, 35];
         8 add_pooling_nd       = addPoolingNd(input: Ptr, kind: i32, window_size: Dims) -> Ptr                                                                   [        43, 38, 38, 36, 36];
         8 add_deconvolution_nd = addDeconvolutionNd(input: Ptr, nb_output_maps: Count, kernel_size: Dims, kernel_weights: Weights, bias_weights: Weights) -> Ptr [        44, 39, 39, 37, 37];
         8 add_scale_nd         = addScaleNd(input: Ptr, mode: i32, shift: Weights, scale: Weights, power: Weights, channel_axis: i32) -> Ptr                     [        45, 40, 40, 38, 38];
         8 add_padding_nd       = addPaddingNd(input: Ptr, pre_padding: Dims, post_padding: Dims) -> Ptr                                                          [        51, 45, 44, 43, 42];
         8 add_quantize         = addQuantize(input: Ptr, scale: Ptr) -> Ptr                                                                                      [        56, 50,  -,  -,  -];
         8 add_dequantize       = addDequantize(input: Ptr, scale: Ptr) -> Ptr                                                                                    [        55, 49,  -,  -,  -];
         8 add_quantize_typed   = addQuantize(input: Ptr, scale: Ptr, output_type: i32) -> Ptr                                                                    [73 >= 9100, 66, 63, 62, 61];
         8 add_dequantize_typed = addDequantize(input: Ptr, scale: Ptr, output_type: i32) -> Ptr                                                                  [74 >= 9100, 67, 64, 63, 62];
         8 add_cast             = addCast(input: Ptr, to_type: i32) -> Ptr                                                                                        [68 >= 8600, 62, 59, 58, 57];
         0 delete               = delete()                                                                                                                        [         1,  1,  1,  1,  1];
    }
    /// A value of a network; the network owns it.
    ITensor in tensor {
         8 set_name            = setName(name: Str)                      [         2,  2,  2,  2,  2];
         8 get_name            = getName() -> Str                        [         3,  3,  3,  3,  3];
         8 set_dimensions      = setDimensions(dimensions: Dims)         [         4,  4,  4,  4,  4];
         8 get_dimensions      = getDimensions() -> Dims                 [         5,  5,  5,  5,  5];
         8 set_type            = setType(kind: i32)                      [         6,  6,  -,  6,  -];
         8 get_type            = getType() -> i32                        [         7,  7,  6,  7,  6];
         8 is_network_input    = isNetworkInput() -> bool                [         9,  9,  7,  8,  7];
         8 is_network_output   = isNetworkOutput() -> bool               [        10, 10,  8,  9,  8];
         8 is_shape_tensor     = isShapeTensor() -> bool                 [        21, 21, 15, 12, 11];
         8 is_execution_tensor = isExecutionTensor() -> bool             [        22, 22, 16, 13, 12];
         8 set_allowed_formats = setAllowedFormats(formats: u32)         [        19, 19, 13, 10,  9];
         8 get_allowed_formats = getAllowedFormats() -> u32              [        20, 20, 14, 11, 10];
         8 set_dimension_name  = setDimensionName(index: i32, name: Str) [23 >= 8501, 23, 17, 14, 13];
         8 get_dimension_name  = getDimensionName(index: i32) -> Str     [24 >= 8501, 24, 18, 15, 14];
    }
}
