//! Running clang on a folder of headers.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{Error, Result, ast::Node, ir::Module};

/// Declarations that stand in for the CUDA headers: names of types that TensorRT only passes on.
const CUDA_STAND_IN: &str = "#pragma once\n\
    typedef struct CUstream_st* cudaStream_t;\n\
    typedef struct CUevent_st* cudaEvent_t;\n";

/// The headers that include all others.
pub const HEADERS: [&str; 2] = ["NvInfer.h", "NvOnnxParser.h"];

const INCLUDES: &str = "#include \"NvInfer.h\"\n#include \"NvOnnxParser.h\"\n";

/// clang, aimed at one folder of headers.
#[derive(Debug)]
pub struct Clang<'a> {
    program: &'a Path,
    headers: &'a Path,
    folder: TempDir,
}

impl<'a> Clang<'a> {
    /// Prepares to run `program` on the headers in a folder.
    pub fn new(program: &'a Path, headers: &'a Path) -> Result<Self> {
        for name in HEADERS {
            if !headers.join(name).is_file() {
                return Err(Error::NoHeaders { headers: headers.to_owned(), name });
            }
        }
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("cuda_runtime_api.h"), CUDA_STAND_IN)?;
        Ok(Self { program, headers, folder })
    }

    /// The syntax tree of the headers' declarations.
    pub fn syntax_tree(&self) -> Result<Node> {
        let source = self.write("declarations.cpp", INCLUDES)?;
        let json = self.run(&source, ["-fsyntax-only", "-Xclang", "-ast-dump=json"])?;
        serde_json::from_slice(&json).map_err(|error| self.unknown(error.to_string()))
    }

    /// Compiles code that includes the headers to LLVM IR, optimized so that inline functions of the headers are
    /// gone.
    pub fn compile(&self, code: &str) -> Result<Module> {
        let source = self.write("probes.cpp", &format!("{INCLUDES}{code}"))?;
        let text = self.run(&source, ["-O2", "-fno-exceptions", "-S", "-emit-llvm", "-o", "-"])?;
        Ok(Module::read(&String::from_utf8_lossy(&text)))
    }

    /// An error about output of clang that cannot be read.
    pub fn unknown(&self, reason: impl Into<String>) -> Error {
        Error::ClangUnknown {
            program: self.program.to_owned(),
            headers: self.headers.to_owned(),
            reason: reason.into(),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    fn run(&self, source: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Vec<u8>> {
        let output = Command::new(self.program)
            .args(["-std=c++17", "-w", "--target=x86_64-linux-gnu", "-I"])
            .arg(self.headers)
            .arg("-I")
            .arg(self.folder.path())
            .args(arguments)
            .arg(source)
            .output()
            .map_err(|source| Error::ClangMissing { program: self.program.to_owned(), source })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let reason = text.lines().find(|line| line.contains("error")).or(text.lines().next());
        Err(Error::ClangFailed {
            program: self.program.to_owned(),
            headers: self.headers.to_owned(),
            reason: reason.unwrap_or("it says nothing").to_owned(),
        })
    }
}
