//! The logger that is passed to a library when it is loaded.
//!
//! TensorRT keeps one logger pointer per process and uses it until the process ends, so this crate has one logger too,
//! which is never freed. The sink that receives its messages can be replaced at any time.

use std::{
    collections::VecDeque,
    ffi::{CStr, c_char, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use crate::{
    Severity,
    sys::{Family, InterfaceInfo, LoggerMethod, Ptr, Str, Version},
};

/// A line the library logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The severity.
    pub severity: Severity,
    /// The text.
    pub text: String,
}

/// Receives messages, on the library's thread that logs.
pub type Sink = Arc<dyn Fn(&Message) + Send + Sync>;

/// The number of recent errors kept to explain a refused call.
const REMEMBERED_ERRORS: usize = 32;

/// A C++ object of class `ILogger`, and the Rust state behind it.
#[repr(C)]
pub struct Logger {
    /// The vtable pointer that C++ reads: the address of the first function in `vtable`.
    vptr: *const *const c_void,
    vtable: Box<[*const c_void]>,
    version: Version,
    sink: RwLock<Option<Sink>>,
    errors: Mutex<Errors>,
}

// SAFETY: the vtable is not written to after `Logger::new`; the other fields are thread-safe.
unsafe impl Send for Logger {}
// SAFETY: as above.
unsafe impl Sync for Logger {}

#[derive(Default)]
struct Errors {
    total: u64,
    recent: VecDeque<String>,
}

/// A point in the stream of errors.
#[derive(Clone, Copy)]
pub struct Mark(u64);

impl Logger {
    /// A logger whose vtable has the shape that `version` calls.
    pub fn new(version: Version) -> &'static Self {
        let vtable = vtable(version.family());
        Box::leak(Box::new(Self {
            vptr: vtable[VTABLE_HEADER.len()..].as_ptr(),
            vtable,
            version,
            sink: RwLock::new(None),
            errors: Mutex::new(Errors::default()),
        }))
    }

    /// The address that the library's entry points take.
    pub fn as_ptr(&'static self) -> Ptr {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Replaces the sink and returns the previous one; `None` discards messages.
    pub fn set_sink(&self, sink: Option<Sink>) -> Option<Sink> {
        std::mem::replace(&mut *self.sink.write().unwrap_or_else(PoisonError::into_inner), sink)
    }

    /// The current end of the stream of errors.
    pub fn mark(&self) -> Mark {
        Mark(self.errors.lock().unwrap_or_else(PoisonError::into_inner).total)
    }

    /// The errors logged since `mark`, joined; only the most recent are kept.
    pub fn errors_since(&self, mark: Mark) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let new = usize::try_from(errors.total - mark.0).unwrap_or(usize::MAX).min(errors.recent.len());
        let texts: Vec<&str> =
            errors.recent.iter().skip(errors.recent.len() - new).map(String::as_str).collect();
        if texts.is_empty() { "the library logged no error".to_owned() } else { texts.join("; ") }
    }

    /// Passes a message of the library or of this crate to the sink.
    pub fn log(&self, message: &Message) {
        if matches!(message.severity, Severity::InternalError | Severity::Error) {
            let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
            errors.total += 1;
            if errors.recent.len() == REMEMBERED_ERRORS {
                errors.recent.pop_front();
            }
            errors.recent.push_back(message.text.clone());
        }
        let sink = self.sink.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            // A panic must not unwind into C++; the message is lost, the sink stays.
            let _ = catch_unwind(AssertUnwindSafe(|| sink(message)));
        }
    }
}

/// What precedes the functions of a vtable: the offset to top and the type.
const VTABLE_HEADER: [*const c_void; 2] = [std::ptr::null(); 2];

fn vtable(family: Family) -> Box<[*const c_void]> {
    let functions = LoggerMethod::vtable(family).iter().map(|method| match method {
        LoggerMethod::Log => log as *const c_void,
        LoggerMethod::Destructor | LoggerMethod::DeletingDestructor => delete as *const c_void,
        LoggerMethod::ApiLanguage => api_language as *const c_void,
        LoggerMethod::InterfaceInfo => interface_info as *const c_void,
    });
    VTABLE_HEADER.into_iter().chain(functions).collect()
}

/// `ILogger::log`.
extern "C" fn log(this: *const Logger, severity: i32, text: Str) {
    if text.is_null() {
        return;
    }
    // SAFETY: C++ calls this through the vtable of the logger it was given, which is never freed, with a
    // NUL-terminated text that lives during the call.
    let (logger, text) = unsafe { (&*this, CStr::from_ptr(text)) };
    let severity = Severity::from_value(severity, logger.version).unwrap_or(Severity::InternalError);
    logger.log(&Message { severity, text: text.to_string_lossy().into_owned() });
}

/// Both destructors: the logger belongs to Rust.
extern "C" fn delete(_this: *const Logger) {}

/// `IVersionedInterface::getAPILanguage`: C++.
extern "C" fn api_language(_this: *const Logger) -> i32 {
    0
}

/// `ILogger::getInterfaceInfo`.
extern "C" fn interface_info(_this: *const Logger) -> InterfaceInfo {
    const KIND: *const c_char = c"ILogger".as_ptr();
    InterfaceInfo { kind: KIND, major: 1, minor: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> Message {
        Message { severity: Severity::Error, text: text.to_owned() }
    }

    #[test]
    fn the_slot_that_each_family_calls_reaches_the_sink() {
        for (number, slot) in [(8600, 0), (101_400, 0), (10_400, 0), (110_000, 4), (10_701, 4)] {
            let logger = Logger::new(Version::from_number(number).expect("supported"));
            let seen = Arc::new(Mutex::new(Vec::new()));
            let target = Arc::clone(&seen);
            logger
                .set_sink(Some(Arc::new(move |message| target.lock().expect("lock").push(message.clone()))));
            // SAFETY: this is how C++ calls the method: through the object's vtable, at the family's slot.
            unsafe {
                let function: extern "C" fn(Ptr, i32, Str) = std::mem::transmute(*logger.vptr.add(slot));
                function(logger.as_ptr(), 2, c"careful".as_ptr());
            }
            let expected = Message { severity: Severity::Warning, text: "careful".to_owned() };
            assert_eq!(*seen.lock().expect("lock"), [expected], "{number}");
        }
    }

    #[test]
    fn errors_since_a_mark_are_those_logged_after_it() {
        let logger = Logger::new(Version::from_number(8600).expect("supported"));
        logger.log(&error("before"));
        let mark = logger.mark();
        logger.log(&Message { severity: Severity::Warning, text: "a warning".to_owned() });
        logger.log(&error("one"));
        logger.log(&error("two"));
        assert_eq!(logger.errors_since(mark), "one; two");
    }

    #[test]
    fn a_flood_of_errors_is_bounded_and_keeps_the_latest() {
        let logger = Logger::new(Version::from_number(8600).expect("supported"));
        let mark = logger.mark();
        (0..1000).for_each(|index| logger.log(&error(&index.to_string())));
        let text = logger.errors_since(mark);
        assert_eq!(text.split("; ").count(), REMEMBERED_ERRORS);
        assert!(text.ends_with("999"), "{text}");
    }

    #[test]
    fn a_sink_that_panics_does_not_unwind_into_the_library() {
        let logger = Logger::new(Version::from_number(8600).expect("supported"));
        logger.set_sink(Some(Arc::new(|_| panic!("sink"))));
        logger.log(&error("lost"));
        assert_eq!(logger.errors_since(Mark(0)), "lost");
    }
}
