//! What all commands print besides their result, and whether in colors.

use std::{io, sync::OnceLock};

use clap::{Args, ValueEnum};
use twinfer_reports::{COLUMNS, Progress};

/// Options of every command.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Terminal")]
pub struct Terminal {
    /// Print only the result and errors: no progress, no notes
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// When to use colors; auto: at a terminal, unless `NO_COLOR` is set
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t)]
    pub color: Color,
    /// How to show progress; auto: a bar at a terminal, elsewhere lines
    #[arg(long, value_name = "HOW", global = true, value_enum, default_value_t)]
    pub progress: ProgressForm,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// How to show progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    #[default]
    Auto,
    Lines,
    None,
}

/// The options that the process was started with.
static CHOSEN: OnceLock<Terminal> = OnceLock::new();

impl Terminal {
    /// Prints as these options say for the rest of the process.
    pub fn apply(self) {
        let colors = match self.color {
            Color::Auto => None,
            Color::Always => Some(true),
            Color::Never => Some(false),
        };
        if let Some(colors) = colors {
            console::set_colors_enabled(colors);
            console::set_colors_enabled_stderr(colors);
        }
        let _ = CHOSEN.set(self);
    }
}

fn chosen() -> Terminal {
    CHOSEN.get().copied().unwrap_or_default()
}

/// Whether notes are left out.
pub fn is_quiet() -> bool {
    chosen().quiet
}

/// The columns of what a person reads first: [`COLUMNS`], or more at a terminal that has them.
pub fn columns() -> usize {
    const WIDE: usize = 200;
    let size = console::Term::stdout().size_checked();
    size.map_or(COLUMNS, |(_, columns)| usize::from(columns).clamp(COLUMNS, WIDE))
}

/// Progress in the form that was chosen.
pub fn progress() -> Progress {
    match chosen() {
        Terminal { quiet: true, .. } | Terminal { progress: ProgressForm::None, .. } => {
            Progress::lines(io::sink())
        }
        _ if is_animated() => Progress::bar(),
        _ => Progress::lines(io::stderr()),
    }
}

/// Progress of a command that is often short: a bar at a terminal, lines only if they were asked for.
pub fn brief_progress() -> Progress {
    let Terminal { progress, .. } = chosen();
    if is_animated() || progress == ProgressForm::Lines {
        self::progress()
    } else {
        Progress::lines(io::sink())
    }
}

/// Whether steps are shown one over the other.
pub fn is_animated() -> bool {
    let Terminal { quiet, progress, .. } = chosen();
    !quiet && progress == ProgressForm::Auto && console::user_attended_stderr()
}
