use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_reports::{Difference, Format, Reporter, Shown};
use twinfer_store::replay_events;

use crate::{Exit, Failure, formats::formats, output::write};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The directory of the earlier run
    earlier: PathBuf,
    /// The directory of the later run
    later: PathBuf,
    /// How the result is written: terminal, json or markdown
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (earlier, later) = (shown(&arguments.earlier)?, shown(&arguments.later)?);
    let names = [&arguments.earlier, &arguments.later].map(|path| path.display().to_string());
    let difference = Difference::between((&names[0], &earlier), (&names[1], &later));
    let text = difference.render(arguments.format).ok_or_else(|| {
        let format = arguments.format;
        Failure::usage(format!("a difference has no {format} form: use terminal, json or markdown"))
    })?;
    write(format_args!("{text}"));
    let is_news = !difference.new.is_empty();
    Ok(if is_news { Exit::Findings } else { Exit::Conforms })
}

fn shown(run: &Path) -> Result<Shown, Failure> {
    let mut shown = Shown::default();
    replay_events(run, &mut |event| shown.hear(event)).map_err(Failure::usage)?;
    Ok(shown)
}
