//! The vtable of `ILogger`: the one class whose objects the caller makes and the library calls.

use super::{Family, Signature};

/// A function of the vtable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggerMethod {
    /// `log`
    Log,
    /// The destructor that keeps the memory.
    Destructor,
    /// The destructor that frees the memory.
    DeletingDestructor,
    /// `getAPILanguage`, of `IVersionedInterface`
    ApiLanguage,
    /// `getInterfaceInfo`, of `IVersionedInterface`
    InterfaceInfo,
}

impl LoggerMethod {
    /// Every function that some family expects.
    pub const ALL: [Self; 5] =
        [Self::Log, Self::Destructor, Self::DeletingDestructor, Self::ApiLanguage, Self::InterfaceInfo];

    /// The functions that `family` expects, in the order of their slots.
    pub const fn vtable(family: Family) -> &'static [Self] {
        match family {
            Family::Trt8 | Family::Trt10 | Family::Rtx13 => {
                &[Self::Log, Self::Destructor, Self::DeletingDestructor]
            }
            Family::Trt11 | Family::Rtx15 => &[
                Self::ApiLanguage,
                Self::InterfaceInfo,
                Self::Destructor,
                Self::DeletingDestructor,
                Self::Log,
            ],
        }
    }

    /// The method as C++ spells it; `delete` is the deleting destructor.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Destructor => "~ILogger",
            Self::DeletingDestructor => "delete",
            Self::ApiLanguage => "getAPILanguage",
            Self::InterfaceInfo => "getInterfaceInfo",
        }
    }

    /// How its arguments and result are passed.
    pub const fn signature(self) -> Signature {
        let (arguments, result): (&[&str], _) = match self {
            Self::Log => (&["i32", "ptr"], "void"),
            Self::Destructor | Self::DeletingDestructor => (&[], "void"),
            Self::ApiLanguage => (&[], "i32"),
            Self::InterfaceInfo => (&[], "{ptr, i64}"),
        };
        Signature { arguments, result }
    }
}
