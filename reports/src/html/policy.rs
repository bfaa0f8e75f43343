//! The content security policy of the page: nothing runs and nothing is loaded but its own style and script.

use sha2::{Digest, Sha256};

/// The policy of a page with one inline `style` and one inline `script`, each named by its digest.
pub fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(style.as_bytes())),
        base64(&Sha256::digest(script.as_bytes()))
    )
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `bytes` in Base64 with padding, as RFC 4648 defines it.
fn base64(bytes: &[u8]) -> String {
    let group = |chunk: &[u8]| {
        let byte = |place| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |place: usize| {
            if place > chunk.len() {
                '='
            } else {
                char::from(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize])
            }
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::{base64, policy};

    #[test]
    fn base64_is_that_of_the_rfc() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn policy_names_the_digests_of_style_and_script() {
        let empty = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        let policy = policy("", "");
        assert_eq!(policy.matches(empty).count(), 2, "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }
}
