//! The table of what providers refuse or ignore.
//!
//! Sources are the providers' documentation and the errors that their APIs answer with; each rule names
//! the error it prevents. OpenAI-compatible servers differ: these are the three providers themselves.
use super::Provider::{Anthropic, Gemini, OpenAi};
use super::walk::Node;
use super::{Provider, keywords, shape};

/// Where a rule looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// The parameters as a whole.
    Root,
    /// Schemas inside the parameters.
    Inner,
    /// Both.
    Anywhere,
}

impl Scope {
    pub(super) fn covers(self, node: &Node<'_>) -> bool {
        match self {
            Self::Root => node.root,
            Self::Inner => !node.root,
            Self::Anywhere => true,
        }
    }
}

/// What a rule found.
pub(super) struct Found {
    /// The path below the schema: `.required[1]`.
    pub(super) below: String,
    /// What is there.
    pub(super) what: String,
}

/// One rule.
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) scope: Scope,
    pub(super) find: fn(&Node<'_>) -> Vec<Found>,
    pub(super) refused_by: &'static [Provider],
    pub(super) ignored_by: &'static [Provider],
    pub(super) fix: &'static str,
}

const ALL: &[Provider] = &[OpenAi, Anthropic, Gemini];

pub(super) const RULES: &[Rule] = &[
    Rule {
        // Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level".
        // OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level".
        id: "top-level-alternatives",
        scope: Scope::Root,
        find: keywords::alternatives,
        refused_by: ALL,
        ignored_by: &[],
        fix: "leave the arguments optional, say in `description` which go together, and check them in execute",
    },
    Rule {
        id: "top-level-enum-or-not",
        scope: Scope::Root,
        find: keywords::enum_or_not,
        refused_by: &[OpenAi, Gemini],
        ignored_by: &[],
        fix: "constrain single arguments instead, and check the rest in execute",
    },
    Rule {
        // OpenAI: "object schema missing properties".
        id: "properties-missing",
        scope: Scope::Root,
        find: shape::properties_missing,
        refused_by: &[OpenAi],
        ignored_by: &[],
        fix: "add `properties: {}`, also for a tool without arguments",
    },
    Rule {
        id: "properties-not-an-object",
        scope: Scope::Anywhere,
        find: shape::properties_not_an_object,
        refused_by: ALL,
        ignored_by: &[],
        fix: "make `properties` an object from argument name to schema",
    },
    Rule {
        // Gemini: "properties: should be non-empty for OBJECT type".
        id: "object-without-properties",
        scope: Scope::Inner,
        find: shape::object_without_properties,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "list its properties, or take a string with JSON in it and parse that in execute",
    },
    Rule {
        // OpenAI: "array schema missing items". Gemini: "items: missing field".
        id: "array-without-items",
        scope: Scope::Anywhere,
        find: shape::array_without_items,
        refused_by: &[OpenAi, Gemini],
        ignored_by: &[],
        fix: "say what the array holds, e.g. `items: { type: 'string' }`",
    },
    Rule {
        // Anthropic: "JSON schema is invalid. It must match JSON Schema draft 2020-12".
        id: "items-is-a-list",
        scope: Scope::Anywhere,
        find: shape::items_is_a_list,
        refused_by: ALL,
        ignored_by: &[],
        fix: "use one schema for all items, or an object with a property for each",
    },
    Rule {
        // Gemini: "required[0]: property is not defined".
        id: "required-without-property",
        scope: Scope::Anywhere,
        find: shape::required_without_property,
        refused_by: &[Gemini],
        ignored_by: &[OpenAi, Anthropic],
        fix: "describe the argument under `properties`, or take its name out of `required`",
    },
    Rule {
        // OpenAI: "True is not of type 'array'".
        id: "required-not-a-list",
        scope: Scope::Anywhere,
        find: shape::required_not_a_list,
        refused_by: ALL,
        ignored_by: &[],
        fix: "list the names of required arguments in `required` beside `properties`",
    },
    Rule {
        id: "unknown-type",
        scope: Scope::Anywhere,
        find: shape::unknown_type,
        refused_by: ALL,
        ignored_by: &[],
        fix: "use string, number, integer, boolean, object, array or null",
    },
    Rule {
        // Gemini: "Proto field is not repeating, cannot start list".
        id: "several-types",
        scope: Scope::Anywhere,
        find: shape::several_types,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "use one type; an argument that may be left out is one that `required` does not list",
    },
    Rule {
        // Gemini: "schema didn't specify the schema type field".
        id: "type-missing",
        scope: Scope::Inner,
        find: shape::type_missing,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "give it a `type`",
    },
    Rule {
        id: "schema-is-a-boolean",
        scope: Scope::Anywhere,
        find: shape::boolean_schemas,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "write a schema, e.g. `{ type: 'string' }`",
    },
    Rule {
        // Anthropic: "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
        id: "property-name",
        scope: Scope::Anywhere,
        find: shape::property_names,
        refused_by: &[Anthropic],
        ignored_by: &[],
        fix: "use letters, digits, _ . and -, at most 64 characters",
    },
    Rule {
        // Gemini: "enum: only allowed for STRING type".
        id: "enum-not-strings",
        scope: Scope::Inner,
        find: keywords::enum_not_strings,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "use `type: 'string'` with the values as strings and convert them in execute, or name them in `description`",
    },
    Rule {
        // Gemini: "enum[0]: cannot be empty".
        id: "enum-with-empty-string",
        scope: Scope::Inner,
        find: keywords::enum_with_empty_string,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "leave the argument optional instead of allowing an empty string",
    },
    Rule {
        // OpenAI: "[] is too short".
        id: "enum-empty",
        scope: Scope::Inner,
        find: keywords::enum_empty,
        refused_by: &[OpenAi],
        ignored_by: &[],
        fix: "list the values, or drop `enum`",
    },
    Rule {
        // Gemini: "when using any_of, it must be the only field set".
        id: "any-of-with-siblings",
        scope: Scope::Inner,
        find: keywords::any_of_with_siblings,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "move those keywords into each alternative, or use one type",
    },
    Rule {
        // Gemini: "Unknown name \"$schema\" … Cannot find field": its schemas are a subset of OpenAPI's.
        id: "unknown-to-gemini",
        scope: Scope::Anywhere,
        find: keywords::unknown_to_gemini,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "leave it out for Gemini: say the rule in `description` and check it in execute",
    },
    Rule {
        // Draft 4 wrote `exclusiveMinimum: true`.
        id: "boolean-exclusive-bound",
        scope: Scope::Anywhere,
        find: keywords::boolean_exclusive_bound,
        refused_by: &[OpenAi, Anthropic],
        ignored_by: &[],
        fix: "give the bound itself: `exclusiveMinimum: 0`",
    },
    Rule {
        // Gemini: "only 'enum' and 'date-time' are supported for STRING type".
        id: "format",
        scope: Scope::Anywhere,
        find: keywords::format,
        refused_by: &[Gemini],
        ignored_by: &[OpenAi, Anthropic],
        fix: "describe the form with an example in `description`, and check it in execute",
    },
    Rule {
        id: "pattern",
        scope: Scope::Anywhere,
        find: keywords::pattern,
        refused_by: &[],
        ignored_by: ALL,
        fix: "models take it as a hint only: check it in execute, and say the form in `description`",
    },
    Rule {
        id: "default",
        scope: Scope::Anywhere,
        find: keywords::default,
        refused_by: &[],
        ignored_by: ALL,
        fix: "nobody fills it in: use the value in execute when the argument is missing, and name it in `description`",
    },
    Rule {
        id: "nullable",
        scope: Scope::Anywhere,
        find: keywords::nullable,
        refused_by: &[],
        ignored_by: &[OpenAi, Anthropic],
        fix: "leave the argument out of `required` instead, and accept null in execute",
    },
    Rule {
        // Gemini: "exceeds the maximum allowed nesting depth". OpenAI's strict mode: 10 levels.
        id: "too-deep",
        scope: Scope::Inner,
        find: shape::too_deep,
        refused_by: &[Gemini],
        ignored_by: &[],
        fix: "flatten it, or take the inner part as a string with JSON in it",
    },
];
