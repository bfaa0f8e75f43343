use clap::builder::{PossibleValuesParser, TypedValueParser};
use twinfer_reports::{Format, UnknownFormat};

/// Parses the name of a report format; `--help` lists the possible values.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(Format::name));
    names.try_map(|name| name.parse::<Format>().map_err(|error: UnknownFormat| error))
}
