//! Backends: what takes an ONNX model and inputs and answers with an observation.
