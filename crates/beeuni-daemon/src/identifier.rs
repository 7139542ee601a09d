//! Random bytes as text: session ids and keys.
use std::fmt::Write;

use crate::error::DaemonError;

/// 32 random bytes as 64 hex digits.
pub(crate) fn random_key() -> Result<String, DaemonError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(DaemonError::Random)?;
    Ok(hex(&bytes))
}

/// A random UUID (version 4).
pub(crate) fn random_uuid() -> Result<String, DaemonError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(DaemonError::Random)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex(&bytes);
    Ok([
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-"))
}

/// Whether `text` can be a session's id: 1 to 128 of `A-Z a-z 0-9 . _ -`.
pub(crate) fn is_session_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn a_fresh_id_is_a_version_4_uuid_and_never_the_same() {
        let id = random_uuid().unwrap();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(&id[14..15], "4", "{id}");
        assert!("89ab".contains(&id[19..20]), "{id}");
        assert!(is_session_id(&id));
        assert_ne!(id, random_uuid().unwrap());
    }

    #[test]
    fn a_key_is_64_hex_digits() {
        let key = random_key().unwrap();
        assert!(
            key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit()),
            "{} characters",
            key.len()
        );
    }

    #[test]
    fn a_session_id_is_one_plain_word() {
        for good in ["a", "2f1e", "A.b_c-9"] {
            assert!(is_session_id(good), "{good}");
        }
        for bad in ["", "a b", "a/b", "é", "a\n", &"x".repeat(129)] {
            assert!(!is_session_id(bad), "{bad:?}");
        }
    }
}
