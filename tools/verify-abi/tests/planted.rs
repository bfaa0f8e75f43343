//! Headers with planted mistakes: each is found, and what is right is not reported.

use std::{fs, path::Path};

use twinfer_verify_abi::{Comparison, Error, Headers};

/// What a forwarding class of the real headers looks like, in few words.
const CORE: &str = r#"
#pragma once
#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#define NV_TENSORRT_MAJOR 1
#define NV_TENSORRT_MINOR 7
#define NV_TENSORRT_PATCH 1
#define NV_TENSORRT_VERSION (NV_TENSORRT_MAJOR * 10000L + NV_TENSORRT_MINOR * 100L + NV_TENSORRT_PATCH)

extern "C" int32_t getInferLibVersion() noexcept;
extern "C" void* createInferBuilder_INTERNAL(void* logger, int64_t version) noexcept;

namespace nvinfer1 {
enum class DataType : int32_t { kFLOAT = 0, kHALF = 1, kINT8 = 2, kINT32 = 3, kNOVEL = 99 };
enum class ActivationType : int32_t { kRELU, kTANH, kSIGMOID };
enum class LayerInformationFormat : int32_t { kONELINE = 0, kJSON = 1 };
class Weights { public: DataType type; int64_t count; void const* values; };

class Object { public: virtual ~Object() = default; };
class ITensor;
class IHostMemory;

namespace inside {
struct HostMemory : Object {
    virtual void* data() const noexcept = 0;
    virtual std::size_t size() const noexcept = 0;
    virtual DataType type() const noexcept = 0;
};
struct TimingCache : Object {
    virtual bool combine(class TimingCacheView const& other, bool ignoreMismatch) noexcept = 0;
    virtual IHostMemory* serialize() const noexcept = 0;
    virtual bool reset() noexcept = 0;
};
struct Inspector : Object {
    virtual void slot2() = 0;
    virtual bool setExecutionContext(void const* context) noexcept = 0;
    virtual void slot4() = 0;
    virtual char const* getLayerInformation(int64_t index, LayerInformationFormat format) const noexcept = 0;
    virtual char const* getEngineInformation(LayerInformationFormat format) const noexcept = 0;
};
struct Network : Object {
    virtual void* addQuantize(ITensor& input, ITensor& scale) noexcept = 0;
    virtual void* addQuantize(ITensor& input, int64_t scale) noexcept = 0;
};
} // namespace inside

class IHostMemory : public Object {
public:
    void* data() const noexcept { return mImpl->data(); }
    std::size_t size() const noexcept { return mImpl->size(); }
    DataType type() const noexcept { return mImpl->type(); }
protected:
    inside::HostMemory* mImpl;
};
class ITimingCache : public Object {
public:
    IHostMemory* serialize() const noexcept { return mImpl->serialize(); }
    bool combine(ITimingCache const& other, bool ignoreMismatch) noexcept {
        return mImpl->combine(reinterpret_cast<inside::TimingCacheView const&>(other), ignoreMismatch);
    }
    bool reset() noexcept { return true; }
protected:
    inside::TimingCache* mImpl;
};
class IEngineInspector : public Object {
public:
    bool setExecutionContext(void const* context) noexcept { return mImpl->setExecutionContext(context); }
    char const* getLayerInformation(int64_t index, LayerInformationFormat format) const noexcept {
        return mImpl->getLayerInformation(index, format);
    }
    char const* getEngineInformation(LayerInformationFormat format) const noexcept {
        return mImpl->getEngineInformation(format);
    }
protected:
    ~IEngineInspector() override = default;
    void* mNovel;
    inside::Inspector* mImpl;
};
class INetworkDefinition : public Object {
public:
    void* addQuantize(ITensor& input, ITensor& scale) noexcept { return mImpl->addQuantize(input, scale); }
    void* addQuantize(ITensor& input, int64_t scale) noexcept { return mImpl->addQuantize(input, scale); }
protected:
    inside::Network* mImpl;
};
class ILogger {
public:
    enum class Severity : int32_t { kINTERNAL_ERROR = 0, kERROR = 1 };
    virtual void log(Severity severity, char const* message) noexcept = 0;
    virtual ~ILogger() = default;
};
} // namespace nvinfer1
"#;

const PARSER: &str = r#"
#pragma once
#include "NvInfer.h"
static constexpr int NV_ONNX_PARSER_VERSION = 1;
extern "C" int getNvOnnxParserVersion() noexcept;
namespace nvonnxparser {
enum class ErrorCode : int { kSUCCESS = 0, kINTERNAL_ERROR = 1 };
class IParserError {
public:
    virtual ErrorCode code() const = 0;
    virtual char const* desc() const = 0;
    virtual int line() const = 0;
    virtual char const* file() const = 0;
protected:
    virtual ~IParserError() {}
};
} // namespace nvonnxparser
"#;

/// A release with 32-bit extents, which travel by value; nothing is planted here.
const NARROW: &str = r"
#pragma once
#include <cstddef>
#include <cstdint>
#define NV_TENSORRT_MAJOR 8
#define NV_TENSORRT_MINOR 6
#define NV_TENSORRT_PATCH 0
#define NV_TENSORRT_VERSION (NV_TENSORRT_MAJOR * 1000 + NV_TENSORRT_MINOR * 100 + NV_TENSORRT_PATCH)

namespace nvinfer1 {
enum class OptProfileSelector : int32_t { kMIN = 0, kOPT = 1, kMAX = 2 };
class Dims32 { public: int32_t nbDims; int32_t d[8]; };
using Dims = Dims32;
class Object { public: virtual ~Object() = default; };
class ICudaEngine;
class IPluginFactory;

namespace inside {
struct Profile : Object {
    virtual bool setDimensions(char const* name, OptProfileSelector select, Dims dims) noexcept = 0;
    virtual Dims getDimensions(char const* name, OptProfileSelector select) const noexcept = 0;
};
struct Runtime : Object {
    virtual ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size, IPluginFactory* factory) noexcept = 0;
};
} // namespace inside

class IOptimizationProfile : public Object {
public:
    bool setDimensions(char const* name, OptProfileSelector select, Dims dims) noexcept {
        return mImpl->setDimensions(name, select, dims);
    }
    Dims getDimensions(char const* name, OptProfileSelector select) const noexcept {
        return mImpl->getDimensions(name, select);
    }
protected:
    inside::Profile* mImpl;
};
class IRuntime : public Object {
public:
    ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size, IPluginFactory* factory) noexcept {
        return mImpl->deserializeCudaEngine(blob, size, nullptr);
    }
    ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size) noexcept {
        return mImpl->deserializeCudaEngine(blob, size, nullptr);
    }
protected:
    inside::Runtime* mImpl;
};
class ILogger {
public:
    enum class Severity : int32_t { kINTERNAL_ERROR = 0 };
    virtual void log(Severity severity, char const* message) noexcept = 0;
    virtual ~ILogger() = default;
};
} // namespace nvinfer1
";

/// The path of clang; prints a message and returns `None` if there is none.
fn compare(core: &str, parser: &str) -> Option<Result<Comparison, Error>> {
    let folder = tempfile::tempdir().expect("temporary folder");
    fs::write(folder.path().join("NvInfer.h"), core).expect("write");
    fs::write(folder.path().join("NvOnnxParser.h"), parser).expect("write");
    match Headers::read(folder.path(), Path::new("clang++")) {
        Err(Error::ClangMissing { .. }) => {
            eprintln!("skipped: clang++ is not installed");
            None
        }
        other => Some(other.and_then(|headers| Comparison::new(&headers))),
    }
}

/// What is said about a class, an enum or a function; what the headers leave out altogether is left out.
fn differences(comparison: &Comparison, subject: &str) -> Vec<String> {
    let is_meant = |text: &String| text.starts_with(subject);
    comparison.differences.iter().map(ToString::to_string).filter(is_meant).collect()
}

#[test]
fn only_planted_differences_are_reported() {
    let Some(comparison) = compare(CORE, PARSER) else { return };
    let comparison = comparison.expect("the headers compile");
    for (subject, expected) in [
        ("release", &[][..]),
        ("IHostMemory", &[]),
        ("getNvOnnxParserVersion", &[]),
        ("NV_ONNX_PARSER_VERSION", &[]),
        (
            "ITimingCache",
            &[
                "ITimingCache::serialize(): the table says slot 2 of what lies at 8, () -> ptr; \
                 the headers say slot 3 of what lies at 8, () -> ptr",
                "ITimingCache::combine(ptr, bool): the table says slot 3 of what lies at 8, (ptr, bool) -> bool; \
                 the headers say slot 2 of what lies at 8, (ptr, bool) -> bool",
                "ITimingCache::reset(): the table says slot 4 of what lies at 8, () -> bool; \
                 the headers say the compiled caller makes no virtual call",
            ],
        ),
        (
            "IEngineInspector",
            &[
                "IEngineInspector::setExecutionContext(ptr): the table says slot 3 of what lies at 8, (ptr) -> bool; \
                 the headers say slot 3 of what lies at 16, (ptr) -> bool",
                "IEngineInspector::getLayerInformation(i32, i32): the table says slot 5 of what lies at 8, \
                 (i32, i32) -> ptr; the headers say slot 5 of what lies at 16, (i64, i32) -> ptr",
                "IEngineInspector::getEngineInformation(i32): the table says slot 6 of what lies at 8, (i32) -> ptr; \
                 the headers say slot 6 of what lies at 16, (i32) -> ptr",
                "IEngineInspector::delete(): the table says slot 1 of the object, () -> void; \
                 the headers say it is absent",
            ],
        ),
        (
            "INetworkDefinition::addQuantize",
            &[
                "INetworkDefinition::addQuantize(ptr, ptr): the table says it is absent; \
                 the headers say slot 2 of what lies at 8, (ptr, ptr) -> ptr",
                "INetworkDefinition::addQuantize(ptr, ptr, i32): the table says slot 61 of what lies at 8, \
                 (ptr, ptr, i32) -> ptr; the headers say slot 2 of what lies at 8, (ptr, ptr) -> ptr or \
                 slot 3 of what lies at 8, (ptr, i64) -> ptr",
            ],
        ),
        (
            "IParserError::file",
            &["IParserError::file(): the table says slot 2 of the object, () -> ptr; \
               the headers say slot 3 of the object, () -> ptr"],
        ),
        ("ActivationType::kSIGMOID", &["ActivationType::kSIGMOID: the table says 1; the headers say 2"]),
        ("nvonnxparser::ErrorCode::kINTERNAL", &[]),
        (
            "Weights",
            &[
                "Weights::values: the table says 8 bytes at 8; the headers say 8 bytes at 16",
                "Weights::count: the table says 8 bytes at 16; the headers say 8 bytes at 8",
            ],
        ),
        (
            "createInferBuilder",
            &["createInferBuilder_INTERNAL: the table says (ptr, i32) -> ptr; \
               the headers say (ptr, i64) -> ptr"],
        ),
        (
            "createInferRuntime",
            &["createInferRuntime_INTERNAL: the table says (ptr, i32) -> ptr; the headers say it is absent"],
        ),
        (
            "ILogger::log",
            &["ILogger::log: the table says slot 4 of the object, (i32, ptr) -> void; \
               the headers say slot 0 of the object, (i32, ptr) -> void"],
        ),
        ("vtable of ILogger", &["vtable of ILogger: the table says 5 entries; the headers say 3 entries"]),
    ] {
        assert_eq!(differences(&comparison, subject), expected, "{subject}");
    }
    assert_eq!(
        comparison.notes,
        [
            "INetworkDefinition::addQuantize, slot 3 of what lies at 8, (ptr, i64) -> ptr, is in no table",
            "IEngineInspector::getLayerInformation, slot 5 of what lies at 16, (i64, i32) -> ptr, is in no table",
            "DataType::kNOVEL = 99 is in no table",
        ]
    );
    let verified: Vec<_> = comparison.verified.iter().map(|method| method.path).collect();
    assert!(verified.starts_with(&["ITimingCache::delete", "IHostMemory::data"]), "{verified:?}");
}

#[test]
fn extents_by_value_and_the_old_logger_agree() {
    let Some(comparison) = compare(NARROW, PARSER) else { return };
    let comparison = comparison.expect("the headers compile");
    for subject in ["Dims32", "ILogger::log", "ILogger::delete", "vtable of ILogger"] {
        assert_eq!(differences(&comparison, subject), [""; 0]);
    }
    let absent = "IOptimizationProfile::isValid(): the table says slot 9 of what lies at 8, () -> bool; \
                  the headers say it is absent";
    assert_eq!(differences(&comparison, "IOptimizationProfile"), [absent]);
    let newer = [
        "IRuntime::setEngineHostCodeAllowed(bool): the table says slot 20 of what lies at 8, (bool) -> void; \
         the headers say it is absent",
        "IRuntime::getEngineHostCodeAllowed(): the table says slot 21 of what lies at 8, () -> bool; \
         the headers say it is absent",
    ];
    assert_eq!(differences(&comparison, "IRuntime"), newer);
}

#[test]
fn newer_release_is_compared_with_the_last_described_one() {
    let Some(comparison) = compare(&CORE.replace("MINOR 7", "MINOR 9"), PARSER) else { return };
    let comparison = comparison.expect("the headers compile");
    let release = "release: the table says nothing; all else is compared with TensorRT-RTX 1.7; \
         the headers say 1.9.1 (10901)";
    assert_eq!(differences(&comparison, "release"), [release]);
    assert_eq!(differences(&comparison, "IHostMemory"), [""; 0]);
}

#[test]
fn release_older_than_the_tables_is_an_error() {
    for (part, earlier, expected) in [("MAJOR 1", "MAJOR 0", 701), ("MINOR 7", "MINOR 2", 10_201)] {
        let Some(result) = compare(&CORE.replace(part, earlier), PARSER) else { return };
        assert!(matches!(result, Err(Error::TooOld { number, .. }) if number == expected), "{result:?}");
    }
}

#[test]
fn error_of_headers_that_do_not_compile_names_the_place() {
    let Some(result) = compare(&CORE.replace("class ITensor;", "class ITensor"), PARSER) else { return };
    let message = result.expect_err("a semicolon is missing").to_string();
    assert!(message.contains("NvInfer.h:") && message.contains("error:"), "{message}");
    assert_eq!(message.lines().count(), 1);
}

#[test]
fn parser_version_may_be_a_macro() {
    let variable = "static constexpr int NV_ONNX_PARSER_VERSION = 1;";
    for (line, expected) in [("#define NV_ONNX_PARSER_VERSION 1", 0), ("", 1)] {
        let Some(comparison) = compare(CORE, &PARSER.replace(variable, line)) else { return };
        let comparison = comparison.expect("the headers compile");
        assert_eq!(differences(&comparison, "NV_ONNX_PARSER_VERSION").len(), expected, "{line}");
    }
}
