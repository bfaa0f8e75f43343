use std::fmt;

use super::function::{Body, Call, Callee};

/// A call through a vtable, as a C++ caller makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualCall {
    /// Offset in the object of the pointer to the one whose vtable is used; 0 is the object itself.
    pub via: usize,
    /// The index in the vtable.
    pub slot: u16,
    /// How arguments and result are passed.
    pub signature: CFunctionCall,
}

/// How the arguments and the result of a call are passed, without the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CFunctionCall {
    /// The arguments in clang's notation.
    pub arguments: Vec<String>,
    /// The result; `void` for none.
    pub result: String,
}

/// Why the IR of a function does not show the expected call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The function is missing.
    #[error("the compiler emitted no code for it")]
    NoFunction,
    /// The function makes no virtual call.
    #[error("the compiled caller makes no virtual call")]
    NoCall,
    /// The function makes several virtual calls.
    #[error("the compiled caller makes several virtual calls")]
    SeveralCalls,
    /// The object is neither the parameter nor something that the parameter points to.
    #[error("the compiled caller calls neither the object nor what it points to")]
    UnknownObject,
}

impl VirtualCall {
    pub(super) fn find(body: &Body) -> Result<Self, Unreadable> {
        let mut calls = body.calls.iter().filter(|call| matches!(call.callee, Callee::Address(_)));
        let call = calls.next().ok_or(Unreadable::NoCall)?;
        if calls.next().is_some() {
            return Err(Unreadable::SeveralCalls);
        }
        Self::read(call).ok_or(Unreadable::UnknownObject)
    }

    fn read(call: &Call) -> Option<Self> {
        let (result, object_at) = match call.arguments.first() {
            Some(first) if first.word.starts_with("sret(") => (&first.word, 1),
            _ => (&call.result, 0),
        };
        let object = call.arguments.get(object_at)?.origin.as_ref()?;
        let via = match object.as_slice() {
            [0] => 0,
            [via, 0] => usize::try_from(*via).ok()?,
            _ => return None,
        };
        let Callee::Address(Some(function)) = &call.callee else { return None };
        // load the vtable from the object, then the function from the vtable
        let [table @ .., entry, 0] = function.as_slice() else { return None };
        if table != object || entry % 8 != 0 {
            return None;
        }
        let arguments =
            call.arguments[object_at + 1..].iter().map(|argument| argument.word.clone()).collect();
        Some(Self {
            via,
            slot: u16::try_from(entry / 8).ok()?,
            signature: CFunctionCall { arguments, result: result.clone() },
        })
    }
}

impl CFunctionCall {
    pub(super) fn find(body: &Body, symbol: &str) -> Result<Self, Unreadable> {
        let call = body
            .calls
            .iter()
            .find(|call| matches!(&call.callee, Callee::Symbol(name) if name == symbol))
            .ok_or(Unreadable::NoCall)?;
        let arguments = call.arguments.iter().map(|argument| argument.word.clone()).collect();
        Ok(Self { arguments, result: call.result.clone() })
    }
}

impl fmt::Display for CFunctionCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) -> {}", self.arguments.join(", "), self.result)
    }
}

impl fmt::Display for VirtualCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { via, slot, signature } = self;
        match via {
            0 => write!(f, "slot {slot} of the object, {signature}"),
            _ => write!(f, "slot {slot} of what lies at {via}, {signature}"),
        }
    }
}
