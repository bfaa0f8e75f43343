//! Arrays as `NumPy` saves them: `.npy` files, and `.npz` files, which are archives of these.
//!
//! Source: `NumPy`, `numpy.lib.format`, versions 1.0 to 3.0 of the format.

use std::io::{Cursor, Read};

use twinfer_onnx::{DataType, MAX_MODEL_BYTES, Tensor};
use zip::ZipArchive;

use super::error::NumpyError;

const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header of an array says.
struct Header {
    dtype: DataType,
    is_column_major: bool,
    shape: Vec<usize>,
}

/// The arrays of an `.npz` file, by name.
pub fn arrays(bytes: &[u8]) -> Result<Vec<(String, Tensor)>, NumpyError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let (mut arrays, mut left) = (Vec::new(), MAX_MODEL_BYTES as u64);
    for place in 0..archive.len() {
        let entry = archive.by_index(place)?;
        let Some(name) = entry.name()?.strip_suffix(".npy").map(str::to_owned) else {
            continue;
        };
        let mut bytes = Vec::new();
        let read = entry.take(left + 1).read_to_end(&mut bytes);
        read.map_err(|error| NumpyError::Packed { name: name.clone(), error })?;
        left = left.checked_sub(bytes.len() as u64).ok_or(NumpyError::TooLarge)?;
        let array = array(&bytes);
        let damaged = |error| NumpyError::Array { name: name.clone(), error: Box::new(error) };
        arrays.push((name.clone(), array.map_err(damaged)?));
    }
    Ok(arrays)
}

/// The array in an `.npy` file.
pub fn array(bytes: &[u8]) -> Result<Tensor, NumpyError> {
    let (header, elements) = split(bytes).ok_or(NumpyError::NoArray)?;
    let Header { dtype, is_column_major, shape } = header_of(header)?;
    if !is_column_major {
        return Ok(Tensor::from_le_bytes(dtype, shape, elements)?);
    }
    let reversed: Vec<_> = shape.iter().rev().copied().collect();
    let transposed = Tensor::from_le_bytes(dtype, reversed, elements)?;
    if transposed.is_empty() {
        return Ok(Tensor::from_le_bytes(dtype, shape, elements)?);
    }
    Ok(Tensor::from_le_bytes(dtype, shape.clone(), &row_major(&transposed, &shape))?)
}

/// The text of the header, and the bytes of the elements.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_at_checked(2)?;
    let (length, rest) = if version[0] == 1 {
        let (length, rest) = rest.split_first_chunk()?;
        (usize::from(u16::from_le_bytes(*length)), rest)
    } else {
        let (length, rest) = rest.split_first_chunk()?;
        (usize::try_from(u32::from_le_bytes(*length)).ok()?, rest)
    };
    let (header, elements) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, elements))
}

/// Reads a header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
fn header_of(text: &str) -> Result<Header, NumpyError> {
    let unreadable = || NumpyError::Header(text.trim_end().escape_debug().to_string());
    let descr = entry(text, "descr").ok_or_else(unreadable)?;
    let quoted = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
    let (name, _) = quoted.ok_or(NumpyError::Records)?;
    let dtype = dtype(name).ok_or_else(|| NumpyError::Type(name.to_owned()))?;
    let order = entry(text, "fortran_order").ok_or_else(unreadable)?;
    let is_column_major = match (order.starts_with("True"), order.starts_with("False")) {
        (true, _) => true,
        (_, true) => false,
        (false, false) => return Err(unreadable()),
    };
    let extents = entry(text, "shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
    let (extents, _) = extents.ok_or_else(unreadable)?;
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(str::parse).collect::<Result<_, _>>().map_err(|_| unreadable())?;
    Ok(Header { dtype, is_column_major, shape })
}

/// What follows a key of a header.
fn entry<'h>(text: &'h str, key: &str) -> Option<&'h str> {
    let (_, rest) = text.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// The type that `NumPy` calls `name`, if its elements are stored with the least significant byte first.
fn dtype(name: &str) -> Option<DataType> {
    Some(match name {
        "<f4" => DataType::Float,
        "<f2" => DataType::Float16,
        "<f8" => DataType::Double,
        "|i1" => DataType::Int8,
        "|u1" => DataType::Uint8,
        "<i4" => DataType::Int32,
        "<i8" => DataType::Int64,
        "|b1" => DataType::Bool,
        _ => return None,
    })
}

/// The bytes of the elements of a tensor of this shape, given the tensor with its axes in reverse.
fn row_major(transposed: &Tensor, shape: &[usize]) -> Vec<u8> {
    let (bytes, size) = (transposed.to_le_bytes(), transposed.dtype().size());
    let strides: Vec<_> = shape
        .iter()
        .scan(1, |stride, extent| {
            let own = *stride;
            *stride *= extent;
            Some(own)
        })
        .collect();
    let mut ordered = Vec::with_capacity(bytes.len());
    let mut position = vec![0; shape.len()];
    for _ in 0..transposed.len() {
        let place: usize = position.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
        ordered.extend_from_slice(&bytes[place * size..(place + 1) * size]);
        advance(&mut position, shape);
    }
    ordered
}

/// The next position in row-major order.
fn advance(position: &mut [usize], shape: &[usize]) {
    for (at, extent) in position.iter_mut().zip(shape).rev() {
        *at += 1;
        if *at < *extent {
            return;
        }
        *at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, elements: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), elements].concat()
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn arrays_are_read_in_both_orders() {
        let elements = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let row =
            array(&npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", &elements)).unwrap();
        assert_eq!((row.shape.as_slice(), row.to_f64()), (&[2, 3][..], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let column =
            array(&npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", &elements)).unwrap();
        assert_eq!(
            (column.shape.as_slice(), column.to_f64()),
            (&[2, 3][..], vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0])
        );
        let scalar = array(&npy("{'shape': (), 'descr': '|i1', 'fortran_order': False}", &[0xff])).unwrap();
        assert_eq!((scalar.shape.len(), scalar.to_f64()), (0, vec![-1.0]));
        let vector =
            array(&npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", &[1, 0])).unwrap();
        assert_eq!((vector.dtype(), vector.to_f64()), (DataType::Bool, vec![1.0, 0.0]));
    }

    #[test]
    fn damaged_arrays_are_refused() {
        let refused = |bytes: &[u8]| array(bytes).unwrap_err().to_string();
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        let whole = npy(header, &floats(&[1.0, 2.0]));
        assert!(array(&whole).is_ok());
        for length in 0..whole.len() {
            refused(&whole[..length]);
        }
        let big = "{'descr': '<f4', 'fortran_order': True, 'shape': (4294967296, 4294967296), }";
        assert!(refused(&npy(big, &[])).contains("elements"), "{}", refused(&npy(big, &[])));
        let empty = "{'descr': '<f4', 'fortran_order': True, 'shape': (4294967296, 4294967296, 0), }";
        assert!(array(&npy(empty, &[])).unwrap().is_empty());
        let swapped = "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }";
        assert_eq!(refused(&npy(swapped, &[0; 4])), "its type is \">f4\", which twinfer does not read");
        let record = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }";
        assert_eq!(refused(&npy(record, &[0; 4])), "it is an array of records");
        assert!(refused(&npy("{'descr': '<f4'}", &[0; 4])).starts_with("its header is unreadable"));
        assert!(arrays(b"PK").unwrap_err().to_string().starts_with("it is not an .npz file"));
    }
}
