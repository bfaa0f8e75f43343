//! TensorRT at run time.
