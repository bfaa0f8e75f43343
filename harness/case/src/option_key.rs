//! The options of variants, each with what its value names.

/// What the value of an option names, and so who may set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// A word, a number or a version. A file may set it.
    Word,
    /// A path or a command: code that is loaded or run. Only the user may set it.
    Path,
}

/// Declares the options that built-in backends take, a row each.
macro_rules! options {
    ($($(#[doc = $doc:literal])* $option:ident: $key:literal, $value:ident;)*) => {
        /// An option of a built-in backend.
        ///
        /// Backends take their options by these keys, so that each option says here what its value names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum OptionKey {
            $($(#[doc = $doc])* $option,)*
        }

        impl OptionKey {
            /// Every option.
            pub const ALL: &'static [Self] = &[$(Self::$option),*];

            /// The key, as variants are written.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$option => $key,)*
                }
            }

            /// What the value names.
            pub const fn value(self) -> OptionValue {
                match self {
                    $(Self::$option => OptionValue::$value,)*
                }
            }

            /// What the option decides, as part of a sentence.
            pub fn meaning(self) -> &'static str {
                let doc = match self {
                    $(Self::$option => concat!($($doc),*),)*
                };
                doc.trim().trim_end_matches('.')
            }

            /// The option with this key; `None` if no built-in backend has one.
            pub fn named(key: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|option| option.key() == key)
            }
        }
    };
}

options! {
    /// How ONNX Runtime's CUDA provider looks for convolution algorithms.
    Algorithm: "algo", Word;
    /// Whether a layer must have the precision that `layers` asks for.
    Constraints: "constraints", Word;
    /// The GPU to run on.
    Device: "device", Word;
    /// Whether to run graphs that are known to crash or hang workers.
    Hazards: "hazards", Word;
    /// PyTorch's representation of programs that Torch-TensorRT compiles, or `eager`: PyTorch alone.
    IntermediateRepresentation: "ir", Word;
    /// The precision to ask TensorRT for, convolution by convolution.
    Layers: "layers", Word;
    /// TensorRT's builder optimization level.
    Level: "level", Word;
    /// The library to load, or the program to run.
    Library: "lib", Path;
    /// What workers do with the backend's CUDA memory.
    Memory: "memory", Word;
    /// ONNX Runtime's graph optimizations.
    Optimization: "opt", Word;
    /// The library of the execution provider that ONNX Runtime loads as a plugin.
    Plugin: "plugin", Path;
    /// The types in which TensorRT may compute 32-bit floats.
    Precision: "precision", Word;
    /// The shapes for which TensorRT optimizes an engine with dynamic extents.
    Profile: "profile", Word;
    /// Whether the weights of an engine can be replaced.
    Refit: "refit", Word;
    /// What runs an engine: TensorRT itself, or a lean runtime in a process of its own.
    Runtime: "runtime", Word;
    /// TensorRT's tactic sources.
    Sources: "sources", Word;
    /// Which builds share TensorRT's timings of tactics.
    Timing: "timing", Word;
    /// Whether later releases can run an engine.
    VersionCompatible: "vc", Word;
    /// The release of an installed library.
    Version: "version", Word;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_found_by_its_key() {
        for &option in OptionKey::ALL {
            assert_eq!(OptionKey::named(option.key()), Some(option));
        }
        assert_eq!(OptionKey::named("plug"), None);
    }

    #[test]
    fn every_option_says_what_it_decides() {
        assert_eq!(OptionKey::Level.meaning(), "TensorRT's builder optimization level");
        assert!(OptionKey::ALL.iter().all(|option| !option.meaning().is_empty()));
    }

    #[test]
    fn the_option_that_names_a_library_is_a_path() {
        assert_eq!(OptionKey::Library.value(), OptionValue::Path);
    }
}
