use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use nvinfer::{DataType, Library, Message, Severity, Typing};

use crate::process::{Subject, on_each_release, on_each_release_that_builds};

type Log = Arc<Mutex<Vec<(thread::ThreadId, Message)>>>;

fn record(library: Library) -> Log {
    let log = Log::default();
    let target = Arc::clone(&log);
    library.set_log_sink(Some(Arc::new(move |message| {
        let mut lines = target.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push((thread::current().id(), message.clone()));
    })));
    log
}

#[test]
fn error_on_another_thread_reaches_the_sink() {
    on_each_release(|subject| {
        let library = subject.library;
        let log = record(library);
        let other = thread::spawn(move || {
            let builder = library.create_builder().expect("a builder");
            let network = builder.create_network(Typing::Weak).expect("a network");
            network.add_input("x", DataType::Float, &[1]).expect("an input");
            network.add_input("x", DataType::Float, &[1]).expect_err("two inputs of one name");
            thread::current().id()
        });
        let other = other.join().map_err(|_| "the other thread panicked")?;
        library.set_log_sink(None);
        let lines = log.lock().unwrap_or_else(PoisonError::into_inner);
        assert_ne!(other, thread::current().id());
        let error = lines.iter().find(|(_, message)| message.severity == Severity::Error);
        let (thread, message) = error.ok_or("no error was logged")?;
        assert_eq!(*thread, other, "{message:?}");
        assert!(!message.text.is_empty());
        Ok(())
    });
}

#[test]
fn build_logs_only_while_there_is_a_sink() {
    on_each_release_that_builds(|Subject { library, builder }| {
        let log = record(library);
        let build = || {
            let network = builder.create_network(Typing::Weak)?;
            let parser = network.create_onnx_parser()?;
            parser.parse(&crate::models::conv(Some(1)).encode())?;
            let config = crate::network::config(builder)?;
            builder.build_serialized_network(&network, &config).map(|plan| plan.len())
        };
        assert!(build()? > 0);
        assert!(log.lock().unwrap_or_else(PoisonError::into_inner).len() > 1);
        library.set_log_sink(None);
        let silent = log.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert!(build()? > 0);
        assert_eq!(log.lock().unwrap_or_else(PoisonError::into_inner).len(), silent);
        Ok(())
    });
}
