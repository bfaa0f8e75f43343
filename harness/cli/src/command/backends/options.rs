use clap::Args;
use twinfer_backend::{ListedOption, options_of};
use twinfer_case::BackendName;
use twinfer_reports::Styled;

use crate::{
    Exit,
    output::{line, print},
    paint,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Backends, such as `trt` [default: all]
    #[arg(value_name = "BACKEND")]
    backends: Vec<BackendName>,
}

pub fn run(arguments: &Arguments) -> Exit {
    let all = if arguments.backends.is_empty() { BackendName::BUILT_IN } else { &arguments.backends };
    for backend in all {
        print(&paint::heading(backend));
        let options = options_of(backend);
        if options.is_empty() {
            print(&paint::faint("  no options"));
        }
        options.iter().for_each(print_option);
    }
    line!("");
    print(&paint::faint("options follow their backend, as in `--backends golden,ort:cpu,opt=off`"));
    Exit::Conforms
}

fn print_option(option: &ListedOption) {
    let ListedOption { key, values, default } = option;
    let line = Styled::plain(format_args!("  {:<12} ", key.key())) + paint::faint(key.meaning());
    print(&line);
    let words: Vec<&str> = values.iter().map(|value| value.text.as_str()).collect();
    let default = if default.is_empty() { "the installed one" } else { default };
    line!("               {} [default: {default}]", words.join(", "));
    for values in values.chunk_by(|one, next| one.releases == next.releases) {
        if let Some(releases) = values.first().and_then(|value| value.releases) {
            let words: Vec<_> = values.iter().map(|value| value.text.as_str()).collect();
            print(&paint::faint(format_args!("               {}: {releases}", words.join(", "))));
        }
    }
}
