//! Source files and places in them.

use serde::{Deserialize, Serialize};

/// A file's number in [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// A half-open range of bytes `lo .. hi` of one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
}

impl Span {
    /// The range `lo .. hi` of `file`.
    pub fn new(file: FileId, lo: u32, hi: u32) -> Span {
        Span { file, lo, hi }
    }

    /// The smallest span that covers both. Spans of two files give the first.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineCol {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
}

/// One file's name and text.
#[derive(Clone, Debug)]
pub struct File {
    /// The name that messages print: the path as the user wrote it, or `cachet:steps`.
    pub name: String,
    /// The text, as read.
    pub text: String,
    starts: Vec<u32>,
}

impl File {
    /// Line and column of a byte offset. Offsets past the end give the end.
    pub fn line_col(&self, at: u32) -> LineCol {
        let line = self.starts.partition_point(|&s| s <= at).saturating_sub(1);
        let start = self.starts[line] as usize;
        let end = (at as usize).clamp(start, self.text.len());
        let col = self.text.get(start..end).map_or(end - start, |s| s.chars().count());
        LineCol { line: line as u32 + 1, col: col as u32 + 1 }
    }
}

/// All files of one compilation, by id, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<File>,
}

impl Sources {
    /// No files.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a file and gives its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId(self.files.len() as u32);
        self.files.push(File { name: name.into(), text: String::new(), starts: vec![0] });
        self.set_text(id, text);
        id
    }

    /// Gives a file its text: a file may need an id before its bytes have been found to be text.
    pub fn set_text(&mut self, id: FileId, text: impl Into<String>) {
        let file = &mut self.files[id.0 as usize];
        file.text = text.into();
        file.starts = vec![0];
        file.starts.extend(file.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
    }

    /// The file with this id. Panics on an id of another `Sources`.
    pub fn file(&self, id: FileId) -> &File {
        &self.files[id.0 as usize]
    }

    /// All files in order.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }

    /// The text of a span; empty where the span does not lie on character boundaries.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).text.get(span.lo as usize..span.hi as usize).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let mut sources = Sources::new();
        let id = sources.add("a", "xy\nåb\n");
        let at = |o| {
            let p = sources.file(id).line_col(o);
            (p.line, p.col)
        };
        assert_eq!([at(0), at(1), at(3), at(5), at(7), at(99)], [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 1)]);
    }
}
