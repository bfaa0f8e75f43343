//! The C functions that the libraries export.

use std::{fmt, marker::PhantomData};

use super::{
    Ptr, Signature,
    method::{Argument, Outcome},
};

/// An exported function of type `F`.
pub struct Export<F> {
    /// Its symbol.
    pub name: &'static str,
    /// How its arguments and result are passed.
    pub signature: Signature,
    function: PhantomData<F>,
}

impl<F> fmt::Debug for Export<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! exports {
    ($($(#[$doc:meta])* $const:ident = $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        $(
            $(#[$doc])*
            pub const $const: Export<unsafe extern "C" fn($($ty),*) -> $ret> = Export {
                name: stringify!($name),
                signature: Signature {
                    arguments: &[$(<$ty as Argument>::WIDE),*],
                    result: <$ret as Outcome>::WIDE,
                },
                function: PhantomData,
            };
        )*

        /// The symbol and signature of each exported function. They are the same in every release.
        pub fn exports() -> impl Iterator<Item = (&'static str, Signature)> {
            [$(($const.name, $const.signature)),*].into_iter()
        }
    };
}

exports! {
    /// Returns the number of the release.
    GET_INFER_LIB_VERSION = getInferLibVersion() -> i32;
    /// Makes an `IBuilder`; takes the number of the headers, which must be the library's own.
    CREATE_INFER_BUILDER = createInferBuilder_INTERNAL(logger: Ptr, version: i32) -> Ptr;
    /// Makes an `IRuntime`; takes the number of the headers, which must be the library's own.
    CREATE_INFER_RUNTIME = createInferRuntime_INTERNAL(logger: Ptr, version: i32) -> Ptr;
    /// Returns the version number of the ONNX parser.
    GET_NV_ONNX_PARSER_VERSION = getNvOnnxParserVersion() -> i32;
    /// Makes an `IParser` for a network; takes the ONNX parser's own number.
    CREATE_NV_ONNX_PARSER = createNvOnnxParser_INTERNAL(network: Ptr, logger: Ptr, version: i32) -> Ptr;
}
