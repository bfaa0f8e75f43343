//! The ONNX parser. Its classes have no implementation object.
//
// offset of the object whose vtable holds it (0: its own) | name here = name in C++ | vtable slot by family:
// TensorRT 8.4–9.2, 10, 11, TensorRT-RTX 1.3–1.4, 1.5–1.7; `-`: not there; `>= N`: since release number N

use crate::sys::{Ptr, Str, method::classes};

classes! {
    /// The ONNX parser.
    IParser in parser {
         0 parse             = parse(serialized_onnx_model: Ptr, serialized_onnx_model_size: usize, model_path: Str) -> bool [         0,  0,  0,  0,  0];
         0 supports_operator = supportsOperator(op_name: Str) -> bool                                                        [         4,  4,  2,  4,  2];
         0 get_nb_errors     = getNbErrors() -> i32                                                                          [         6,  5,  3,  5,  3];
         0 get_error         = getError(index: i32) -> Ptr                                                                   [         7,  6,  4,  6,  4];
         0 clear_errors      = clearErrors()                                                                                 [         8,  7,  5,  7,  5];
         0 set_flags         = setFlags(onnx_parser_flags: u32)                                                              [12 >= 8601, 11,  9, 11,  9];
         0 get_flags         = getFlags() -> u32                                                                             [13 >= 8601, 12, 10, 12, 10];
         0 delete            = delete()                                                                                      [        10,  9,  7,  9,  7];
    }
    /// One error of the parser, which owns it.
    IParserError in parser_error {
         0 code          = code() -> i32         [        0, 0, 0, 0, 0];
         0 desc          = desc() -> Str         [        1, 1, 1, 1, 1];
         0 file          = file() -> Str         [        2, 2, 2, 2, 2];
         0 line          = line() -> i32         [        3, 3, 3, 3, 3];
         0 func          = func() -> Str         [        4, 4, 4, 4, 4];
         0 node          = node() -> i32         [        5, 5, 5, 5, 5];
         0 node_name     = nodeName() -> Str     [6 >= 9100, 6, 6, 6, 6];
         0 node_operator = nodeOperator() -> Str [7 >= 9100, 7, 7, 7, 7];
    }
}
