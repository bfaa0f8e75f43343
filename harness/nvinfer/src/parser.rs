use crate::{
    Error, NetworkDefinition, ParseFailure, ParserError, ParserErrorCode, Result,
    sys::table::{IParser, IParserError},
    tensor::{c_string, text},
};

/// An ONNX parser that fills a network; the network owns it.
#[derive(Debug)]
pub struct OnnxParser<'n> {
    network: &'n NetworkDefinition<'n>,
    raw: IParser,
}

impl NetworkDefinition<'_> {
    /// Creates an ONNX parser that fills this network; the network keeps it, for the weights it holds.
    pub fn create_onnx_parser(&self) -> Result<OnnxParser<'_>> {
        let raw = self.library().create_parser(self.raw())?;
        self.keep_parser(raw);
        Ok(OnnxParser::new(self, raw))
    }
}

impl<'n> OnnxParser<'n> {
    pub(crate) fn new(network: &'n NetworkDefinition<'_>, raw: IParser) -> Self {
        Self { network, raw }
    }

    /// Adds the graph of a serialized model to the network.
    ///
    /// A model that leaves the network without outputs is a [`ParseFailure`] even if TensorRT reports success,
    /// because some releases parse arbitrary bytes as an empty model.
    pub fn parse(&self, model: &[u8]) -> Result<()> {
        // SAFETY: the network, and with it the parser, is live; the parser copies what it needs of the bytes.
        let parsed = unsafe {
            self.raw.clear_errors()?;
            self.raw.parse(model.as_ptr().cast_mut().cast(), model.len(), std::ptr::null())?
        };
        if parsed && !self.network.outputs()?.is_empty() {
            return Ok(());
        }
        Err(ParseFailure { errors: self.errors()? }.into())
    }

    /// Whether the parser supports an ONNX operator.
    pub fn supports_operator(&self, operator: &str) -> Result<bool> {
        let operator = c_string(operator)?;
        // SAFETY: the parser is live.
        Ok(unsafe { self.raw.supports_operator(operator.as_ptr())? })
    }

    /// The parser's flags, as a bit mask; since TensorRT 8.6.1.
    pub fn flags(&self) -> Result<u32> {
        // SAFETY: the parser is live.
        Ok(unsafe { self.raw.get_flags()? })
    }

    /// Sets the parser's flags, as a bit mask; since TensorRT 8.6.1.
    pub fn set_flags(&self, flags: u32) -> Result<()> {
        // SAFETY: the parser is live.
        unsafe { self.raw.set_flags(flags) }.map_err(Error::from)
    }

    fn errors(&self) -> Result<Vec<ParserError>> {
        let version = self.network.library().version();
        // SAFETY: the parser is live.
        let count = unsafe { self.raw.get_nb_errors()? };
        (0..count)
            .filter_map(|index| {
                // SAFETY: the parser is live; the index is below the count. It owns the error until it is cleared.
                let raw = unsafe { self.raw.get_error(index) };
                raw.map(|raw| IParserError::new(version, raw)).transpose()
            })
            // SAFETY: no error was cleared since.
            .map(|raw| unsafe { read(raw?) })
            .collect()
    }
}

/// Copies an error.
///
/// # Safety
/// The error is live.
unsafe fn read(raw: IParserError) -> Result<ParserError> {
    let version = raw.0.version();
    // SAFETY: the caller upholds that the error is live; its texts live as long and are copied.
    unsafe {
        let code = raw.code()?;
        Ok(ParserError {
            code: ParserErrorCode::from_value(code, version)?,
            text: text(raw.desc()?),
            node: raw.node()?,
            node_name: raw.node_name().ok().map(|name| text(name)),
            node_operator: raw.node_operator().ok().map(|operator| text(operator)),
            function: text(raw.func()?),
            origin: format!("{}:{}", text(raw.file()?), raw.line()?),
        })
    }
}
