use clap::builder::{PossibleValuesParser, TypedValueParser};
use twinfer_reports::{Format, UnknownFormat};

/// Parses the name of a format of campaign reports; `--help` lists the possible values.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    parser_of(&Format::ALL)
}

/// Parses the name of a format of differences; `--help` lists the possible values.
pub fn difference_formats() -> impl TypedValueParser<Value = Format> {
    parser_of(&Format::DIFFERENCES)
}

fn parser_of(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(formats.iter().map(|format| format.name()));
    names.try_map(|name| name.parse::<Format>().map_err(|error: UnknownFormat| error))
}
