//! Names of rules as files hold them.

use serde::{Deserialize as _, Deserializer};

/// Rules by the names that they had once and have now.
const RENAMED: [(&str, &str); 6] = [
    ("ort-float-bias-is-quantised", "ort-float-bias-is-quantized"),
    ("ort-float-weights-are-quantised", "ort-float-weights-are-quantized"),
    ("rtx-quantised-needs-gpu", "rtx-quantized-needs-gpu"),
    ("trt-no-int32-dequantisation", "trt-no-int32-dequantization"),
    ("trt-no-uint8-dequantisation", "trt-no-uint8-dequantization"),
    ("trt-symmetric-quantisation", "trt-symmetric-quantization"),
];

/// Reads a name that any version wrote.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(current(&String::deserialize(deserializer)?))
}

/// As [`read`], where there may be no name.
pub fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.as_deref().map(current))
}

fn current(name: &str) -> String {
    let renamed = RENAMED.iter().find(|(earlier, _)| *earlier == name);
    renamed.map_or(name, |(_, now)| now).to_owned()
}

#[cfg(test)]
mod tests {
    use crate::{UncomparedReason, Verdict};

    #[test]
    fn earlier_names_are_read_as_those_of_today() {
        let read =
            |name: &str| serde_json::from_str::<Verdict>(&format!(r#"{{"unsupported":"{name}"}}"#)).unwrap();
        let of_another_backend = "own-quantisation";
        assert_eq!(read(of_another_backend), Verdict::Unsupported(of_another_backend.to_owned()));
        let verdict = read("trt-no-uint8-dequantisation");
        assert_eq!(verdict, Verdict::Unsupported("trt-no-uint8-dequantization".to_owned()));
        let reason: UncomparedReason =
            serde_json::from_str(r#"{"unsupported":"trt-symmetric-quantisation"}"#).unwrap();
        assert_eq!(reason, UncomparedReason::Unsupported("trt-symmetric-quantization".to_owned()));
        let divergence = r#"{"variant":"ort:cpu","stage":"execute","kind":"wrong-values","blame":"variant",
            "detail":"","documented":"ort-float-bias-is-quantised"}"#;
        let verdict: Verdict = serde_json::from_str(&format!(r#"{{"diverges":[{divergence}]}}"#)).unwrap();
        assert_eq!(verdict.divergences()[0].documented.as_deref(), Some("ort-float-bias-is-quantized"));
    }
}
