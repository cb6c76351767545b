//! `cachetc new`: a folder with a kernel that checks, runs and passes its test.

use crate::{ErrorFormat, OK, terminal};
use cachet_runtime::write_file;
use std::path::Path;

/// The files of a new folder. `NAME` in a text becomes the folder's name.
const FILES: &[(&str, &str)] = &[
    ("kernel.cachet", include_str!("../new/kernel.cachet")),
    ("kernel.expected", include_str!("../new/kernel.expected")),
    ("README.md", include_str!("../new/README.md")),
];

/// Makes the folder. Nothing that exists is touched.
pub fn run(folder: &Path, format: ErrorFormat) -> u8 {
    let shown = folder.display();
    let Some(name) = folder.file_name().map(|n| n.to_string_lossy()) else {
        return terminal::unable(format, &format!("`{shown}` does not name a folder"), Some("`cachetc new my_kernel`"));
    };
    if let Err(e) = std::fs::create_dir(folder) {
        let exists = e.kind() == std::io::ErrorKind::AlreadyExists;
        let help = exists.then_some("choose another name: nothing that exists is overwritten");
        let why = if exists { "it exists".to_string() } else { e.to_string() };
        return terminal::unable(format, &format!("cannot make the folder `{shown}`: {why}"), help);
    }
    for (file, text) in FILES {
        if let Err(e) = write_file(&folder.join(file), text.replace("NAME", &name).as_bytes()) {
            return terminal::unable(format, &e.message, e.fix.as_deref());
        }
    }
    terminal::say(&format!("made {shown}; next: cachetc test {}", folder.join("kernel.cachet").display()));
    OK
}
