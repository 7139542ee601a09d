//! Which of a provider's models is used when nobody says: the newest of its main family.

use std::cmp::Ordering;

/// The family whose newest member is meant, and what to ask for when the provider's list is not there.
struct Main {
    provider: &'static str,
    family: &'static str,
    /// What follows the version in every name of the family.
    suffix: &'static str,
    fallback: &'static str,
}

const MAIN: [Main; 4] = [
    Main {
        provider: "openai",
        family: "gpt-",
        suffix: "",
        fallback: "gpt-5",
    },
    Main {
        provider: "anthropic",
        family: "claude-sonnet-",
        suffix: "",
        fallback: "claude-sonnet-4-5",
    },
    Main {
        provider: "gemini",
        family: "gemini-",
        suffix: "-pro",
        fallback: "gemini-2.5-pro",
    },
    // Not a model but OpenRouter's own choice of one.
    Main {
        provider: "openrouter",
        family: "openrouter/auto",
        suffix: "",
        fallback: "openrouter/auto",
    },
];

/// The model to use of a provider with these models; `None`: it has none, or nobody knows.
pub(crate) fn best_of(provider: &str, models: Option<&[&str]>) -> Option<String> {
    let Some(main) = MAIN.iter().find(|it| it.provider == provider) else {
        return models?.first().map(|it| (*it).to_owned());
    };
    let members = models.unwrap_or_default().iter().filter_map(|model| {
        let version = model.strip_prefix(main.family)?.strip_suffix(main.suffix)?;
        Some((Version::parse(version)?, *model))
    });
    let newest = members.max_by(|(left, _), (right, _)| left.compare(right));
    Some(newest.map_or(main.fallback, |(_, model)| model).to_owned())
}

/// `5.2`, `4-5-20250929`, `5-2025-08-07`: a version, perhaps with the date of a snapshot.
struct Version {
    numbers: Vec<u32>,
    date: Vec<u32>,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        let mut date = Vec::new();
        for part in text.split(['.', '-']).filter(|_| !text.is_empty()) {
            let number = part.parse().ok()?;
            // Versions stay small; a year or a whole date begins the date.
            let list = if date.is_empty() && number < 1000 {
                &mut numbers
            } else {
                &mut date
            };
            list.push(number);
        }
        Some(Self { numbers, date })
    }

    /// Newer is greater; of the same version the name without a date, which stays current.
    fn compare(&self, other: &Self) -> Ordering {
        let undated = (self.date.is_empty()).cmp(&other.date.is_empty());
        self.numbers
            .cmp(&other.numbers)
            .then(undated)
            .then_with(|| self.date.cmp(&other.date))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(provider: &str, models: &[&str]) -> Option<String> {
        best_of(provider, Some(models))
    }

    #[test]
    fn the_newest_of_the_main_family_is_the_default() {
        let openai = [
            "gpt-4.1",
            "gpt-5-mini",
            "gpt-5.2-2025-12-11",
            "gpt-5.2",
            "gpt-5",
            "gpt-4o",
            "gpt-image-1",
        ];
        assert_eq!(best("openai", &openai).as_deref(), Some("gpt-5.2"));
        let anthropic = [
            "claude-opus-4-5-20251101",
            "claude-sonnet-4-20250514",
            "claude-sonnet-4-5-20250929",
        ];
        assert_eq!(
            best("anthropic", &anthropic).as_deref(),
            Some("claude-sonnet-4-5-20250929")
        );
        let gemini = [
            "gemini-2.5-flash",
            "gemini-2.5-pro",
            "gemini-3-pro-preview",
            "gemini-1.5-pro",
        ];
        assert_eq!(best("gemini", &gemini).as_deref(), Some("gemini-2.5-pro"));
    }

    #[test]
    fn without_a_list_a_well_known_model_is_asked_for() {
        assert_eq!(best_of("openai", None).as_deref(), Some("gpt-5"));
        assert_eq!(
            best("anthropic", &["something-else"]).as_deref(),
            Some("claude-sonnet-4-5")
        );
        assert_eq!(best("openrouter", &[]).as_deref(), Some("openrouter/auto"));
    }

    #[test]
    fn any_other_provider_gives_its_first() {
        assert_eq!(best("ollama", &["b", "a"]).as_deref(), Some("b"));
        assert_eq!(best("ollama", &[]), None);
        assert_eq!(best_of("custom", None), None);
    }
}
