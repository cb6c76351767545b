//! Files: objects as they are, archives by our own hand, shared libraries and executables by a linker.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::error::{ToolError, ToolErrorKind};
use crate::llvm::expand;

/// A linker that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linker {
    /// A C compiler driver: knows the C library and its start files.
    Cc(PathBuf),
    /// The linker of the Rust toolchain: the C library's files are found by us.
    RustLld(PathBuf),
}

impl std::fmt::Display for Linker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Linker::Cc(path) => write!(f, "{}", path.display()),
            Linker::RustLld(path) => write!(f, "{} (of the Rust toolchain)", path.display()),
        }
    }
}

/// How something was linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// With what.
    pub linker: Linker,
    /// What the linker said beside doing its work.
    pub warnings: String,
}

/// One object in an archive.
#[derive(Clone, Debug)]
pub struct ArchiveMember<'a> {
    /// File name, at most 15 bytes without `/`.
    pub name: &'a str,
    /// The object file.
    pub object: &'a [u8],
    /// The symbols it defines for others.
    pub symbols: &'a [&'a str],
}

/// Writes a file, with a message that names it.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
    std::fs::write(path, bytes).map_err(|error| ToolError::io(format_args!("write `{}`", path.display()), &error))
}

/// The linker for a target's files: this machine's where it is one like it, else a cross compiler that is named after it, else,
/// for what needs no C library, the toolchain's own.
///
/// # Errors
/// There is none.
pub fn find_linker_for(triple: &str, needs_c_library: bool) -> Result<Linker, ToolError> {
    let arch = triple.split('-').next().unwrap_or_default();
    if arch == std::env::consts::ARCH && triple.contains("linux") == cfg!(target_os = "linux") {
        return find_linker();
    }
    let linux = triple.contains("linux");
    let named = linux.then(|| find_on_path(&format!("{arch}-linux-gnu-gcc"))).flatten();
    let own = || if linux && !needs_c_library { find_rust_lld() } else { None };
    named.map(Linker::Cc).or_else(own).ok_or_else(|| {
        let error = ToolError::new(ToolErrorKind::Missing, format!("no linker found for `{triple}`"));
        if linux {
            error.with_fix(format!(
                "run `apt-get install gcc-{}-linux-gnu libc6-dev-{}-cross`",
                arch.replace('_', "-"),
                debian(arch)
            ))
        } else {
            error
        }
    })
}

/// The linker that will be used, `cc` before the toolchain's own.
pub fn find_linker() -> Result<Linker, ToolError> {
    find_cc().or_else(find_rust_lld).ok_or_else(|| {
        let fix = if cfg!(target_os = "macos") {
            "run `xcode-select --install`"
        } else {
            "run `apt-get install gcc libc6-dev` (or your distribution's C compiler)"
        };
        ToolError::new(ToolErrorKind::Missing, "no linker found: neither `cc` nor the Rust toolchain's `rust-lld`")
            .with_fix(fix)
    })
}

/// Links an executable from object files that define `main`.
pub fn link_executable(objects: &[&Path], out: &Path) -> Result<LinkReport, ToolError> {
    link_executable_with(find_linker()?, objects, out)
}

/// Links an executable with a linker of one's choice. What the linker writes while it works lies beside the result.
pub fn link_executable_by(linker: Linker, objects: &[&Path], out: &Path) -> Result<LinkReport, ToolError> {
    link_executable_with(linker, objects, out)
}

/// Links a shared library that needs no other, under the name by which programs will ask for it. Equal objects and an equal
/// linker give equal bytes; what the linker writes while it works lies beside the result.
pub fn link_library(linker: Linker, object: &Path, name: &str, out: &Path) -> Result<LinkReport, ToolError> {
    let mut command = match &linker {
        Linker::Cc(path) => {
            let mut command = Command::new(path);
            command.args(["-shared", "-nostdlib"]);
            if cfg!(target_os = "macos") {
                command.arg(format!("-Wl,-install_name,@rpath/{name}"));
            } else {
                command.args(["-fno-lto", &format!("-Wl,-soname,{name}"), "-Wl,--build-id=none", "-Wl,-z,defs"]);
            }
            command
        }
        Linker::RustLld(path) => {
            let mut command = Command::new(path);
            command.args(["-flavor", "gnu", "-shared", "-soname", name, "--build-id=none", "-z", "defs"]);
            command
        }
    };
    command.arg("-o").arg(out).arg(object);
    run(linker.clone(), &mut command, out)
}

/// Links a shared library.
pub fn link_shared(objects: &[&Path], out: &Path) -> Result<LinkReport, ToolError> {
    link_shared_with(find_linker()?, objects, out)
}

/// Writes a static archive with a symbol index, in the System V (GNU) format that Linux linkers read.
pub fn write_archive(members: &[ArchiveMember<'_>], out: &Path) -> Result<(), ToolError> {
    write_file(out, &archive(members)?)
}

fn link_executable_with(linker: Linker, objects: &[&Path], out: &Path) -> Result<LinkReport, ToolError> {
    let mut command;
    match &linker {
        Linker::Cc(path) => {
            command = Command::new(path);
            command.arg("-o").arg(out).args(objects).arg("-lm");
        }
        Linker::RustLld(path) => {
            let libc = CLibrary::find()?;
            command = Command::new(path);
            command.args(["-flavor", "gnu", "-pie", "--dynamic-linker"]).arg(&libc.loader).arg("-o").arg(out);
            command.arg(libc.folder.join("Scrt1.o")).arg(libc.folder.join("crti.o")).args(objects);
            command.arg("-L").arg(&libc.folder).args(["-lm", "-lc"]).arg(libc.folder.join("crtn.o"));
        }
    }
    run(linker.clone(), &mut command, out)
}

fn link_shared_with(linker: Linker, objects: &[&Path], out: &Path) -> Result<LinkReport, ToolError> {
    let mut command = match &linker {
        Linker::Cc(path) => {
            let mut command = Command::new(path);
            command.arg("-shared");
            command
        }
        Linker::RustLld(path) => {
            let mut command = Command::new(path);
            command.args(["-flavor", "gnu", "-shared"]);
            command
        }
    };
    command.arg("-o").arg(out).args(objects);
    run(linker.clone(), &mut command, out)
}

fn run(linker: Linker, command: &mut Command, out: &Path) -> Result<LinkReport, ToolError> {
    if let Some(folder) = out.parent().filter(|f| f.is_absolute()) {
        command.env("TMPDIR", folder);
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let output: Output =
        command.output().map_err(|error| ToolError::io(format_args!("start the linker `{program}`"), &error))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(LinkReport { linker, warnings: said });
    }
    let text = format!("`{program}` could not link `{}` ({})", out.display(), output.status);
    Err(ToolError::new(ToolErrorKind::Failed, text).with_detail(said))
}

fn find_cc() -> Option<Linker> {
    find_on_path("cc").map(Linker::Cc)
}

fn find_on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Debian's name of an architecture.
fn debian(arch: &str) -> &str {
    match arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn find_rust_lld() -> Option<Linker> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output().ok().filter(|o| o.status.success());
    let asked = asked.and_then(|output| String::from_utf8(output.stdout).ok());
    let built_with = option_env!("CACHET_BUILD_SYSROOT").map(str::to_owned);
    [built_with, asked]
        .into_iter()
        .flatten()
        .flat_map(|sysroot| expand(&Path::new(sysroot.trim()).join("lib/rustlib/*/bin/rust-lld")))
        .next()
        .map(Linker::RustLld)
}

/// The files of the C library that an executable starts from.
struct CLibrary {
    folder: PathBuf,
    loader: PathBuf,
}

impl CLibrary {
    fn find() -> Result<CLibrary, ToolError> {
        let missing = || {
            ToolError::new(ToolErrorKind::Missing, "the start files of the C library (`Scrt1.o`) were not found")
                .with_fix("run `apt-get install gcc libc6-dev` (or your distribution's C compiler)")
        };
        let (folders, loaders): (&[&str], &[&str]) = if cfg!(target_arch = "x86_64") {
            (
                &["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"],
                &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"],
            )
        } else {
            (
                &["/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"],
                &["/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"],
            )
        };
        let folder = folders.iter().map(PathBuf::from).find(|folder| folder.join("Scrt1.o").exists());
        let loader = loaders.iter().map(PathBuf::from).find(|loader| loader.exists());
        Ok(CLibrary { folder: folder.ok_or_else(missing)?, loader: loader.ok_or_else(missing)? })
    }
}

/// The bytes of an archive: the magic, the index (big-endian offsets, then names), the members, each on an even
/// offset.
fn archive(members: &[ArchiveMember<'_>]) -> Result<Vec<u8>, ToolError> {
    const MAGIC: &[u8] = b"!<arch>\n";
    const HEADER: usize = 60;
    let names: usize = members.iter().flat_map(|member| member.symbols).map(|symbol| symbol.len() + 1).sum();
    let count: usize = members.iter().map(|member| member.symbols.len()).sum();
    let index_size = 4 + 4 * count + names;
    let mut offsets = Vec::new();
    let mut offset = MAGIC.len() + HEADER + index_size.next_multiple_of(2);
    for member in members {
        offsets.push(u32::try_from(offset).map_err(|_| too_large())?);
        offset += HEADER + member.object.len().next_multiple_of(2);
    }
    let mut bytes = MAGIC.to_vec();
    push_header(&mut bytes, "/", index_size)?;
    bytes.extend(u32::try_from(count).map_err(|_| too_large())?.to_be_bytes());
    for (member, offset) in members.iter().zip(&offsets) {
        for _ in member.symbols {
            bytes.extend(offset.to_be_bytes());
        }
    }
    for symbol in members.iter().flat_map(|member| member.symbols) {
        bytes.extend(symbol.as_bytes());
        bytes.push(0);
    }
    pad(&mut bytes);
    for member in members {
        push_header(&mut bytes, &format!("{}/", member.name), member.object.len())?;
        bytes.extend(member.object);
        pad(&mut bytes);
    }
    Ok(bytes)
}

fn too_large() -> ToolError {
    ToolError::new(ToolErrorKind::Misuse, "a static archive is limited to 4 GiB")
}

fn pad(bytes: &mut Vec<u8>) {
    if !bytes.len().is_multiple_of(2) {
        bytes.push(b'\n');
    }
}

/// Name, time, owner, group, mode, size; times and owners are zero so that equal inputs give equal files.
fn push_header(bytes: &mut Vec<u8>, name: &str, size: usize) -> Result<(), ToolError> {
    if name.len() > 16 || name.len() > 1 && name[..name.len() - 1].contains('/') {
        let text = format!("`{name}` cannot name a member of an archive: at most 15 bytes, no `/`");
        return Err(ToolError::new(ToolErrorKind::Misuse, text));
    }
    bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_have_an_index_and_even_members() {
        let members = [
            ArchiveMember { name: "a.o", object: b"abc", symbols: &["f", "g"] },
            ArchiveMember { name: "b.o", object: b"defg", symbols: &["h"] },
        ];
        let bytes = archive(&members).unwrap();
        assert_eq!(bytes[68..72], 3_u32.to_be_bytes());
        let first = u32::from_be_bytes(bytes[72..76].try_into().unwrap()) as usize;
        let third = u32::from_be_bytes(bytes[80..84].try_into().unwrap()) as usize;
        assert!(bytes[first..].starts_with(b"a.o/ "));
        assert!(bytes[third..].starts_with(b"b.o/ "));
        assert_eq!(&bytes[first + 60..first + 63], b"abc");
        assert_eq!(third % 2, 0);
        assert_eq!(bytes, archive(&members).unwrap());
    }

    #[test]
    fn long_member_names_are_refused() {
        let member = ArchiveMember { name: "sixteen_bytes_.o", object: b"", symbols: &[] };
        assert_eq!(archive(&[member]).unwrap_err().kind, ToolErrorKind::Misuse);
    }

    #[test]
    fn a_linker_that_fails_is_quoted() {
        let object = std::env::temp_dir().join(format!("cachet-no-such-{}.o", std::process::id()));
        let error = match link_executable(&[&object], &std::env::temp_dir().join("cachet-never")) {
            Ok(report) => panic!("{report:?}"),
            Err(error) => error,
        };
        if error.kind != ToolErrorKind::Missing {
            assert_eq!(error.kind, ToolErrorKind::Failed);
            assert!(error.detail.unwrap().contains("cachet-no-such"));
        }
    }

    /// The toolchain's linker can do what `cc` does, where the C library's start files are.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn rust_lld_links_an_executable_and_a_shared_library() {
        let (Some(lld), Ok(_), Ok(llvm)) = (find_rust_lld(), CLibrary::find(), crate::Llvm::load()) else {
            assert!(!std::env::var("CACHET_REQUIRE").is_ok_and(|words| words.contains("lld")));
            let _ = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!(
                    "{}\n",
                    format_args!("skipped: no rust-lld, or no start files of the C library, or no libLLVM")
                ),
            );
            return;
        };
        let folder = std::env::temp_dir().join(format!("cachet-lld-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = "
            @text = private constant [4 x i8] c\"hi\\0A\\00\"
            declare i32 @printf(ptr, ...)
            define i32 @main() { %r = call i32 (ptr, ...) @printf(ptr @text) ret i32 7 }";
        let target = llvm.host().unwrap().target();
        let object = llvm.compile(text, &target, crate::OptLevel::O2).unwrap().emit_object().unwrap();
        let file = folder.join("main.o");
        write_file(&file, &object).unwrap();
        let program = folder.join("main");
        let report = link_executable_with(lld.clone(), &[&file], &program).unwrap();
        assert_eq!(report.linker, lld);
        let output = Command::new(&program).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), b"hi\n".as_slice()));
        let shared = folder.join("libmain.so");
        link_shared_with(lld, &[&file], &shared).unwrap();
        assert!(std::fs::read(&shared).unwrap().starts_with(b"\x7FELF"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
