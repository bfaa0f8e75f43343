/// How values are passed in a call, in clang's notation for x86-64: `ptr`, `i32`, `byval(Dims32)`, `sret(Dims64)` …
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The arguments after the object.
    pub arguments: &'static [&'static str],
    /// The result; `void` for none.
    pub result: &'static str,
}
