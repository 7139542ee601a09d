//! How many tokens well-known models hold, for providers whose `/models` does not say.

/// Window and longest answer of a family, by the beginning of the model's name; the first that fits
/// counts. Deliberately short and careful: a window that is too small only compacts early.
const FAMILIES: &[(&str, u64, Option<u64>)] = &[
    ("gpt-5-chat", 128_000, Some(16_384)),
    ("gpt-5", 400_000, Some(128_000)),
    ("gpt-4.1", 1_047_576, Some(32_768)),
    ("gpt-4o", 128_000, Some(16_384)),
    ("gpt-4-turbo", 128_000, Some(4_096)),
    ("gpt-4", 8_192, None),
    ("gpt-3.5-turbo", 16_385, Some(4_096)),
    ("gpt-oss", 131_072, None),
    ("chatgpt-4o", 128_000, Some(16_384)),
    ("codex-mini", 200_000, Some(100_000)),
    ("o1-mini", 128_000, Some(65_536)),
    ("o1", 200_000, Some(100_000)),
    ("o3", 200_000, Some(100_000)),
    ("o4", 200_000, Some(100_000)),
    ("claude-3-haiku", 200_000, Some(4_096)),
    ("claude-3-opus", 200_000, Some(4_096)),
    ("claude-3-5", 200_000, Some(8_192)),
    ("claude-opus-4", 200_000, Some(32_000)),
    ("claude", 200_000, Some(64_000)),
    ("gemini-1.5-pro", 2_097_152, Some(8_192)),
    ("gemini-1.5", 1_048_576, Some(8_192)),
    ("gemini-2.0", 1_048_576, Some(8_192)),
    ("gemini", 1_048_576, Some(65_536)),
    ("gemma-3", 131_072, None),
    ("deepseek", 128_000, None),
    ("codestral", 256_000, None),
    ("devstral", 128_000, None),
    ("mistral-large", 128_000, None),
    ("mistral-medium", 128_000, None),
    ("mistral-small", 128_000, None),
    ("qwen3-coder", 262_144, None),
    ("qwen3", 32_768, None),
    ("qwen2.5", 32_768, None),
    ("kimi-k2", 131_072, None),
    ("glm-4.5", 131_072, None),
    ("glm-4.6", 200_000, None),
    ("grok-3", 131_072, None),
    ("grok-4", 256_000, None),
    ("grok-code", 256_000, None),
    ("llama-3.1", 131_072, None),
    ("llama-3.2", 131_072, None),
    ("llama-3.3", 131_072, None),
];

/// Window and longest answer of a model, where its family is known.
///
/// Not for Ollama: what one of its models holds is a setting of that server, and mostly far less.
pub(crate) fn known_window(provider: &str, model: &str) -> Option<(u64, Option<u64>)> {
    if provider == "ollama" {
        return None;
    }
    // Routers put the maker in front: `anthropic/claude-…`.
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let family = FAMILIES.iter().find(|(prefix, ..)| name.starts_with(prefix))?;
    Some((family.1, family.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_never_hides_a_more_exact_one_behind_it() {
        for (at, (prefix, ..)) in FAMILIES.iter().enumerate() {
            let hidden = FAMILIES
                .iter()
                .skip(at + 1)
                .find(|(later, ..)| later.starts_with(prefix));
            assert_eq!(hidden, None, "{prefix} comes first");
        }
    }

    #[test]
    fn a_model_is_known_by_its_family_also_behind_a_router() {
        assert_eq!(
            known_window("openai", "gpt-5.2-2026-01-01"),
            Some((400_000, Some(128_000)))
        );
        assert_eq!(
            known_window("openrouter", "anthropic/Claude-Sonnet-4.5").map(|it| it.0),
            Some(200_000)
        );
        assert_eq!(known_window("custom", "our-own"), None);
        assert_eq!(known_window("ollama", "qwen3"), None);
    }
}
