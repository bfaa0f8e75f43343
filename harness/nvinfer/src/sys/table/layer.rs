//! Layers, by what each concrete class adds.
//
// offset of the object whose vtable holds it (0: its own) | name here = name in C++ | vtable slot by family:
// TensorRT 8.4–9.2, 10, 11, TensorRT-RTX 1.3–1.4, 1.5–1.7; `-`: not there; `>= N`: since release number N

use crate::sys::{Dims, Ptr, Str, Weights, method::Count, method::classes};

classes! {
    /// The methods that every layer has. The network owns its layers.
    ILayer in layer {
         8 get_type           = getType() -> i32                          [         2,  2,  2,  2,  2];
         8 set_name           = setName(name: Str)                        [         3,  3,  3,  3,  3];
         8 get_name           = getName() -> Str                          [         4,  4,  4,  4,  4];
         8 get_nb_inputs      = getNbInputs() -> i32                      [         5,  5,  5,  5,  5];
         8 get_input          = getInput(index: i32) -> Ptr               [         6,  6,  6,  6,  6];
         8 get_nb_outputs     = getNbOutputs() -> i32                     [         7,  7,  7,  7,  7];
         8 get_output         = getOutput(index: i32) -> Ptr              [         8,  8,  8,  8,  8];
         8 set_input          = setInput(index: i32, tensor: Ptr)         [         9,  9,  9,  9,  9];
         8 set_precision      = setPrecision(data_type: i32)              [        10, 10,  -, 10,  -];
         8 get_precision      = getPrecision() -> i32                     [        11, 11,  -, 11,  -];
         8 precision_is_set   = precisionIsSet() -> bool                  [        12, 12,  -, 12,  -];
         8 reset_precision    = resetPrecision()                          [        13, 13,  -, 13,  -];
         8 set_output_type    = setOutputType(index: i32, data_type: i32) [        14, 14,  -, 14,  -];
         8 get_output_type    = getOutputType(index: i32) -> i32          [        15, 15, 10, 15, 10];
         8 output_type_is_set = outputTypeIsSet(index: i32) -> bool       [        16, 16,  -, 16,  -];
         8 set_metadata       = setMetadata(doc_string: Str)              [18 >= 8600, 18, 11, 18, 11];
         8 get_metadata       = getMetadata() -> Str                      [19 >= 8600, 19, 12, 19, 12];
    }
    /// The methods that a convolution adds to those of a layer.
    IConvolutionLayer in convolution_layer {
        16 get_nb_output_maps = getNbOutputMaps() -> Count    [ 5,  3,  3,  3,  3];
        16 set_nb_groups      = setNbGroups(nb_groups: Count) [10,  4,  4,  4,  4];
        16 get_nb_groups      = getNbGroups() -> Count        [11,  5,  5,  5,  5];
        16 get_kernel_weights = getKernelWeights() -> Weights [13,  7,  7,  7,  7];
        16 get_bias_weights   = getBiasWeights() -> Weights   [15,  9,  9,  9,  9];
        16 set_pre_padding    = setPrePadding(padding: Dims)  [18, 10, 10, 10, 10];
        16 get_pre_padding    = getPrePadding() -> Dims       [19, 11, 11, 11, 11];
        16 set_post_padding   = setPostPadding(padding: Dims) [20, 12, 12, 12, 12];
        16 get_post_padding   = getPostPadding() -> Dims      [21, 13, 13, 13, 13];
        16 get_kernel_size_nd = getKernelSizeNd() -> Dims     [25, 17, 17, 17, 17];
        16 set_stride_nd      = setStrideNd(stride: Dims)     [26, 18, 18, 18, 18];
        16 get_stride_nd      = getStrideNd() -> Dims         [27, 19, 19, 19, 19];
        16 set_dilation_nd    = setDilationNd(dilation: Dims) [30, 22, 22, 22, 22];
        16 get_dilation_nd    = getDilationNd() -> Dims       [31, 23, 23, 23, 23];
    }
    /// The methods that a deconvolution adds to those of a layer.
    IDeconvolutionLayer in deconvolution_layer {
        16 get_nb_output_maps = getNbOutputMaps() -> Count    [ 5,  3,  3,  3,  3];
        16 set_nb_groups      = setNbGroups(nb_groups: Count) [10,  4,  4,  4,  4];
        16 get_nb_groups      = getNbGroups() -> Count        [11,  5,  5,  5,  5];
        16 get_kernel_weights = getKernelWeights() -> Weights [13,  7,  7,  7,  7];
        16 get_bias_weights   = getBiasWeights() -> Weights   [15,  9,  9,  9,  9];
        16 set_pre_padding    = setPrePadding(padding: Dims)  [16, 10, 10, 10, 10];
        16 get_pre_padding    = getPrePadding() -> Dims       [17, 11, 11, 11, 11];
        16 set_post_padding   = setPostPadding(padding: Dims) [18, 12, 12, 12, 12];
        16 get_post_padding   = getPostPadding() -> Dims      [19, 13, 13, 13, 13];
        16 get_kernel_size_nd = getKernelSizeNd() -> Dims     [23, 17, 17, 17, 17];
        16 set_stride_nd      = setStrideNd(stride: Dims)     [24, 18, 18, 18, 18];
        16 get_stride_nd      = getStrideNd() -> Dims         [25, 19, 19, 19, 19];
        16 set_dilation_nd    = setDilationNd(dilation: Dims) [28, 22, 22, 22, 22];
        16 get_dilation_nd    = getDilationNd() -> Dims       [29, 23, 23, 23, 23];
    }
    /// The methods that a pooling adds to those of a layer.
    IPoolingLayer in pooling_layer {
        16 get_pooling_type                   = getPoolingType() -> i32                         [ 3,  3,  3,  3,  3];
        16 set_average_count_excludes_padding = setAverageCountExcludesPadding(exclusive: bool) [12,  6,  6,  6,  6];
        16 get_average_count_excludes_padding = getAverageCountExcludesPadding() -> bool        [13,  7,  7,  7,  7];
        16 set_pre_padding                    = setPrePadding(padding: Dims)                    [14,  8,  8,  8,  8];
        16 get_pre_padding                    = getPrePadding() -> Dims                         [15,  9,  9,  9,  9];
        16 set_post_padding                   = setPostPadding(padding: Dims)                   [16, 10, 10, 10, 10];
        16 get_post_padding                   = getPostPadding() -> Dims                        [17, 11, 11, 11, 11];
        16 get_window_size_nd                 = getWindowSizeNd() -> Dims                       [21, 15, 15, 15, 15];
        16 set_stride_nd                      = setStrideNd(stride: Dims)                       [22, 16, 16, 16, 16];
        16 get_stride_nd                      = getStrideNd() -> Dims                           [23, 17, 17, 17, 17];
    }
    /// The methods that an activation adds to those of a layer.
    IActivationLayer in activation_layer {
        16 get_activation_type = getActivationType() -> i32 [3, 3, 3, 3, 3];
        16 set_alpha           = setAlpha(alpha: f32)       [4, 4, 4, 4, 4];
        16 set_beta            = setBeta(beta: f32)         [5, 5, 5, 5, 5];
        16 get_alpha           = getAlpha() -> f32          [6, 6, 6, 6, 6];
        16 get_beta            = getBeta() -> f32           [7, 7, 7, 7, 7];
    }
    /// The methods that an element-wise operation adds to those of a layer.
    IElementWiseLayer in element_wise_layer {
        16 get_operation = getOperation() -> i32 [3, 3, 3, 3, 3];
    }
    /// The methods that a scale adds to those of a layer.
    IScaleLayer in scale_layer {
        16 get_mode         = getMode() -> i32        [ 3,  3,  3,  3,  3];
        16 get_channel_axis = getChannelAxis() -> i32 [10, 10, 10, 10, 10];
    }
    /// The methods that a concatenation adds to those of a layer.
    IConcatenationLayer in concatenation_layer {
        16 set_axis = setAxis(axis: i32) [2, 2, 2, 2, 2];
        16 get_axis = getAxis() -> i32   [3, 3, 3, 3, 3];
    }
    /// The methods that a shuffle (transpose, reshape, transpose) adds to those of a layer.
    IShuffleLayer in shuffle_layer {
        16 set_first_transpose     = setFirstTranspose(permutation: Ptr)             [2, 2, 2, 2, 2];
        16 set_reshape_dimensions  = setReshapeDimensions(dimensions: Dims)          [4, 4, 4, 4, 4];
        16 get_reshape_dimensions  = getReshapeDimensions() -> Dims                  [5, 5, 5, 5, 5];
        16 set_second_transpose    = setSecondTranspose(permutation: Ptr)            [6, 6, 6, 6, 6];
        16 set_zero_is_placeholder = setZeroIsPlaceholder(zero_is_placeholder: bool) [8, 8, 8, 8, 8];
        16 get_zero_is_placeholder = getZeroIsPlaceholder() -> bool                  [9, 9, 9, 9, 9];
    }
    /// The methods that a constant adds to those of a layer.
    IConstantLayer in constant_layer {
        16 get_weights    = getWeights() -> Weights [3, 3, 3, 3, 3];
        16 get_dimensions = getDimensions() -> Dims [5, 5, 5, 5, 5];
    }
    /// The methods that a cast adds to those of a layer.
    ICastLayer in cast_layer {
        16 get_to_type = getToType() -> i32 [3 >= 8600, 3, 3, 3, 3];
    }
    /// The methods that a quantization adds to those of a layer.
    IQuantizeLayer in quantize_layer {
        16 get_axis = getAxis() -> i32   [2, 2, 2, 2, 2];
        16 set_axis = setAxis(axis: i32) [3, 3, 3, 3, 3];
    }
    /// The methods that a dequantization adds to those of a layer.
    IDequantizeLayer in dequantize_layer {
        16 get_axis = getAxis() -> i32   [2, 2, 2, 2, 2];
        16 set_axis = setAxis(axis: i32) [3, 3, 3, 3, 3];
    }
}
