use nvinfer::{DataType, Error, LayerType, ParseFailure, ParserErrorCode, Typing};

use crate::{
    models,
    process::{Subject, on_each_release},
};

fn parse(subject: Subject, model: &[u8]) -> Result<(), Error> {
    subject.builder.create_network(Typing::Weak)?.create_onnx_parser()?.parse(model)
}

fn failure(subject: Subject, model: &[u8]) -> Result<ParseFailure, Box<dyn std::error::Error>> {
    match parse(subject, model) {
        Err(Error::Parse(failure)) => Ok(failure),
        Err(other) => Err(other.into()),
        Ok(()) => Err("the model was accepted".into()),
    }
}

#[test]
fn model_becomes_a_network_with_shapes_types_and_layers() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        network.create_onnx_parser()?.parse(&models::conv(None).encode())?;
        let [x] = network.inputs()?[..] else { return Err("one input".into()) };
        let [y] = network.outputs()?[..] else { return Err("one output".into()) };
        assert_eq!((x.name()?, x.shape()?), ("x".to_owned(), Some(vec![-1, 1, 4, 4])));
        assert_eq!((y.name()?, y.shape()?), ("y".to_owned(), Some(vec![-1, 1, 4, 4])));
        assert_eq!((x.data_type()?, y.data_type()?), (DataType::Float, DataType::Float));
        assert!(x.is_network_input()? && !x.is_network_output()? && y.is_network_output()?);
        let kinds =
            network.layers()?.iter().map(nvinfer::Layer::layer_type).collect::<Result<Vec<_>, _>>()?;
        assert!(kinds.contains(&LayerType::Convolution), "{kinds:?}");
        Ok(())
    });
}

#[test]
fn conv_transpose_with_output_padding_has_its_shape() {
    on_each_release(|Subject { builder, .. }| {
        for (pad_end, output_padding, extent) in [(0, 0, 6), (0, 1, 7), (1, 0, 4), (1, 1, 5)] {
            let network = builder.create_network(Typing::Weak)?;
            network.create_onnx_parser()?.parse(&models::conv_transpose(pad_end, output_padding).encode())?;
            let shape = network.outputs()?[0].shape()?;
            assert_eq!(shape, Some(vec![1, 1, 1, extent]), "pads {pad_end}, output_padding {output_padding}");
        }
        Ok(())
    });
}

#[test]
fn quantized_graph_has_quantize_and_dequantize_layers() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        network.create_onnx_parser()?.parse(&models::quantized_conv().encode())?;
        let layers = network.layers()?;
        let count =
            |kind| layers.iter().filter(|layer| layer.layer_type().is_ok_and(|other| other == kind)).count();
        assert_eq!((count(LayerType::Quantize), count(LayerType::Dequantize)), (2, 3));
        Ok(())
    });
}

#[test]
fn parse_error_has_a_code_a_node_and_a_text() {
    on_each_release(|subject| {
        let failure = failure(subject, &models::conv_with_wrong_channels().encode())?;
        let error = failure.errors.first().ok_or("no error")?;
        assert_ne!(error.code, ParserErrorCode::Success);
        assert_eq!(error.node, 0, "{error:?}");
        assert!(
            !error.text.is_empty() && !error.function.is_empty() && error.origin.contains(':'),
            "{error:?}"
        );
        if let (Some(name), Some(operator)) = (&error.node_name, &error.node_operator) {
            assert_eq!((name.as_str(), operator.as_str()), ("node", "Conv"));
        }
        Ok(())
    });
}

#[test]
fn unknown_operator_is_an_error() {
    on_each_release(|subject| {
        let mut model = models::conv(Some(1)).encode();
        let at = model.windows(4).position(|bytes| bytes == b"Conv").ok_or("no Conv in the model")?;
        model[at] = b'Z';
        let failure = failure(subject, &model)?;
        assert!(!failure.errors.is_empty(), "{failure}");
        assert!(
            failure.to_string().contains("at node 0") || failure.to_string().contains("Zonv"),
            "{failure}"
        );
        Ok(())
    });
}

#[test]
fn bytes_that_are_no_model_are_an_error() {
    on_each_release(|subject| {
        let whole = models::conv(Some(1)).encode();
        for bytes in [&b"this is not ONNX"[..], &whole[..whole.len() / 2], &[]] {
            failure(subject, bytes)?;
        }
        Ok(())
    });
}

#[test]
fn supported_operators_are_known() {
    on_each_release(|Subject { builder, .. }| {
        let network = builder.create_network(Typing::Weak)?;
        let parser = network.create_onnx_parser()?;
        assert!(parser.supports_operator("Conv")? && parser.supports_operator("ConvTranspose")?);
        assert!(!parser.supports_operator("NoSuchOperator")?);
        assert!(matches!(parser.supports_operator("a\0b"), Err(Error::Text(_))));
        Ok(())
    });
}

#[test]
fn parser_flags_read_back_or_are_unsupported() {
    on_each_release(|Subject { library, builder }| {
        let network = builder.create_network(Typing::Weak)?;
        let parser = network.create_onnx_parser()?;
        match parser.set_flags(1) {
            Ok(()) => assert_eq!(parser.flags()? & 1, 1),
            Err(Error::Unsupported(error)) => assert!(library.version().number() < 8601, "{error}"),
            Err(other) => return Err(other.into()),
        }
        Ok(())
    });
}
