//! The registry of codes: one short name per kind of problem. A code without its page does not compile.

use serde::Serialize;

/// A kind of problem, by a name that a person can remember.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
pub struct Code(pub &'static str);

/// A code and its one-line meaning.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// What it means.
    pub title: &'static str,
    /// The page that explains it, `docs/errors/CODE.md`: meaning, an example that fails, the example mended.
    pub page: &'static str,
}

macro_rules! registry {
    ($($name:ident = $text:literal, $title:literal;)*) => {
        /// Every code.
        pub mod codes {
            use super::Code;
            $(#[doc = $title]
            pub const $name: Code = Code($text);)*
        }
        /// Every code with its meaning, in the order of the registry.
        pub fn all_codes() -> &'static [CodeInfo] {
            &[$(CodeInfo {
                code: codes::$name,
                title: $title,
                page: include_str!(concat!("../../../docs/errors/", $text, ".md")),
            },)*]
        }
    };
}

registry! {
    // Text.
    ENCODING = "encoding", "the file is not plain UTF-8 text";
    TOKEN = "token", "a character or literal that is not in the language";
    LAYOUT = "layout", "indentation that fits no enclosing block";
    SYNTAX = "syntax", "the grammar expects something else here";
    TOO_DEEP = "too-deep", "nesting beyond the published limit";
    LIMIT = "limit", "a size or count beyond a published limit";
    NOT_BUILT = "not-built", "legal, and refused because it has not been built";
    // Names and imports.
    UNKNOWN_NAME = "unknown-name", "a name that nothing in scope defines";
    DUPLICATE_NAME = "duplicate-name", "two definitions of one name";
    IMPORT_MISSING = "import-missing", "an imported file that cannot be read";
    IMPORT_CYCLE = "import-cycle", "a file that imports itself, directly or through others";
    // Types.
    TYPE_MISMATCH = "type-mismatch", "a value of one type where another is wanted";
    ARITY = "arity", "too many or too few arguments, subscripts or indices";
    FIELD = "field", "a field that a record does not have, or that is left out";
    LITERAL = "literal", "a literal that its type cannot hold, or that has no type";
    BINDING = "binding", "a type parameter that is not bound, or bound to the wrong thing";
    SIZE = "size", "an extent that cannot be found or does not agree";
    WORD_AS_INDEX = "word-as-index", "data used where only an index may stand";
    PROOF = "proof", "an assertion about constants and sizes that was not shown";
    LAW = "law", "a law that is missing, unknown or false";
    // Contractions.
    SUMMED_ON_LEFT = "summed-on-left", "a summed index on the left of an equation";
    INDEX_RANGE = "index-range", "an index whose range cannot be found";
    OUTPUT = "output", "an output that is not defined exactly once, or is read";
    UNUSED = "unused", "a definition that nothing uses";
    // Functions.
    MODE = "mode", "a parameter used against its mode";
    RECURSION = "recursion", "a function or schedule function that calls itself";
    // Well-formedness.
    BOUNDS = "bounds", "an access that may leave its array";
    UNINITIALISED = "uninitialised", "a read of something that may not have been written";
    NOT_WRITTEN = "not-written", "an output that may not be written everywhere";
    OVERLAP = "overlap", "parts of one array lent at once, one of them to be written";
    REQUIREMENT = "requirement", "a requirement of a called function that does not follow";
    CONTRADICTION = "contradiction", "requirements that no sizes satisfy";
    OVERFLOW = "overflow", "arithmetic on integers or indices whose result may not fit";
    DEAD_CODE = "dead-code", "code that no sizes reach";
    RESOURCES = "resources", "more moves between memory levels, or is kept in one, than is declared or fits";
    // Schedules and steps.
    NO_MATCH = "no-match", "a step whose pattern is not in the program";
    AMBIGUOUS = "ambiguous", "a step whose pattern is in the program more than once";
    STEP_ARGUMENT = "step-argument", "an argument of a step that does not fit";
    GRID = "grid", "iterations of a grid that may touch each other's data";
    LANES = "lanes", "lanes of a vector statement that may touch each other's data, or a mask beyond them";
    RECIPE = "recipe", "a line of a recipe that does not fit the programs";
    REGROUP = "regroup", "a sum whose terms may not be joined in other groups";
    RELATION = "relation", "a rewrite that was not shown to keep the result";
    // Tools.
    TOOL = "tool", "something outside the compiler is missing or failed";
    FILE = "file", "a file that cannot be read or written";
}
