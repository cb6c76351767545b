//! A problem as data: what was asked, where, why not, for which values, and what would help.

use crate::{Code, Span};
use serde::Serialize;

/// The five things a report can be. They never share a wording, and JSON keeps them apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The text breaks a rule of the language.
    Error,
    /// A replay at concrete sizes showed the program or rewrite to be wrong.
    Wrong,
    /// A condition was not proved: there is a model, and no replay has shown a difference.
    NotProved,
    /// The prover's budget ran out.
    NotDecided,
    /// Legal, and refused because it has not been built.
    NotBuilt,
    /// Worth knowing; nothing is refused.
    Warning,
}

/// A place and what to say there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What; may be empty.
    pub text: String,
    /// The place the report is about; the others explain it.
    pub primary: bool,
}

/// Values for which a condition fails, in the user's names, smallest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counterexample {
    /// `("K", "1")`: only variables that matter.
    pub values: Vec<(String, String)>,
    /// What happened when both programs were run at these sizes.
    pub replay: Option<Replay>,
}

/// The outcome of running the program, or both programs, at a counterexample's sizes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Replay {
    /// A difference or a fault was seen; the lines say which, ready to print.
    Seen {
        /// One fact a line.
        lines: Vec<String>,
    },
    /// Nothing was seen up to the replay's bound: a model the search cannot rule out.
    NotSeen,
}

/// A report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The kind of problem, stable across versions: `cachetc explain CODE`.
    pub code: Code,
    /// Which of the five things this is.
    pub kind: Kind,
    /// The first line. It stands alone.
    pub message: String,
    /// Places, the primary one first.
    pub labels: Vec<Label>,
    /// Facts that explain.
    pub notes: Vec<String>,
    /// What would help.
    pub helps: Vec<String>,
    /// Values for which it fails.
    pub counterexample: Option<Counterexample>,
    /// For a refusal of a step: the calls of schedule functions that lead to it, outermost first. They are among the
    /// labels too.
    pub callers: Vec<Span>,
}

impl Diagnostic {
    /// A report of `kind` with its first line.
    pub fn new(kind: Kind, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            kind,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            counterexample: None,
            callers: Vec::new(),
        }
    }

    /// An error in the text at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Kind::Error, code, message).at(span, "")
    }

    /// A refusal of something legal that has not been built.
    pub fn not_built(span: Span, what: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Kind::NotBuilt, crate::codes::NOT_BUILT, format!("not built yet: {}", what.into())).at(span, "")
    }

    /// Adds the primary place.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: true });
        self
    }

    /// Adds a place that explains; the first place of all is the primary one.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: self.labels.is_empty() });
        self
    }

    /// Forgets the places for which `keep` is false; the first that is left is the primary one.
    pub fn keep_places(&mut self, keep: impl Fn(Span) -> bool) {
        self.labels.retain(|l| keep(l.span));
        if let Some(first) = self.labels.first_mut() {
            first.primary = true;
        }
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds what would help.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.helps.push(text.into());
        self
    }

    /// Whether the item it is about is refused.
    pub fn refuses(&self) -> bool {
        self.kind != Kind::Warning
    }

    /// The primary place, if it has one.
    pub fn span(&self) -> Option<Span> {
        self.labels.iter().find(|l| l.primary).map(|l| l.span)
    }
}
