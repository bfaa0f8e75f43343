//! Names of rules as files hold them: some had British spelling.

use serde::{Deserialize as _, Deserializer};

/// Reads a name that any version wrote.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(current(&String::deserialize(deserializer)?))
}

/// As [`read`], where there may be no name.
pub fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.as_deref().map(current))
}

fn current(name: &str) -> String {
    name.replace("quantis", "quantiz")
}

#[cfg(test)]
mod tests {
    use crate::{UncomparedReason, Verdict};

    #[test]
    fn earlier_names_are_read_as_those_of_today() {
        let verdict: Verdict =
            serde_json::from_str(r#"{"unsupported":"trt-no-uint8-dequantisation"}"#).unwrap();
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
