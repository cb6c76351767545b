//! How programs and their parts print: in the surface language, so that what is printed parses and means the same.
//!
//! Precedence follows the language's table: 5 `+ -`, 6 `* / %`, 7 `as`, 8 unary, 9 application, 10 postfix.

mod expr;
mod float;
mod plain;
mod stmt;
mod value;

pub use expr::Names;
pub use float::{decimal, print_float};
pub use stmt::{listing, signature, statements};
