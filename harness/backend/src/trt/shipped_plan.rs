//! A plan as one process hands it to another: in place of a model.

use super::names::Names;

/// The bytes that hold the length of the names.
const LENGTH: usize = 4;

/// A plan with the names of its tensors: their number as four bytes, the names as JSON, then the plan.
pub fn encode(names: &Names, plan: &[u8]) -> serde_json::Result<Vec<u8>> {
    let names = serde_json::to_vec(names)?;
    let length = u32::try_from(names.len()).unwrap_or(u32::MAX);
    Ok([&length.to_le_bytes()[..], &names, plan].concat())
}

/// The names and the plan; `None` if the bytes do not begin with names.
pub fn decode(bytes: &[u8]) -> Option<(Names, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    let (names, plan) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((serde_json::from_slice(names).ok()?, plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_plan_arrives_with_its_names() {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let names = Names { inputs: list(&["x"]), outputs: list(&["y", "é"]), intermediates: list(&["é"]) };
        let shipped = encode(&names, b"plan").unwrap();
        let (found, plan) = decode(&shipped).unwrap();
        assert_eq!((found.inputs, found.outputs, plan), (names.inputs, names.outputs, &b"plan"[..]));
        assert_eq!(found.intermediates, names.intermediates);
    }

    #[test]
    fn bytes_that_are_no_shipped_plan_are_refused() {
        let shipped = encode(&Names { inputs: vec![], outputs: vec![], intermediates: vec![] }, b"").unwrap();
        for end in 0..shipped.len() {
            assert!(decode(&shipped[..end]).is_none(), "{end} bytes");
        }
        assert!(decode(&[255; 8]).is_none() && decode(&[0, 0, 0, 0, b'{', b'}']).is_none());
    }
}
