//! What needs itself, and imports that lead nowhere.

use super::{Entry, Hostile, MAIN, PRODUCT};

pub(super) fn all() -> Vec<Hostile> {
    let texts = [
        ("a function that calls itself", "fn f (mut x: [f32; N]) =\n  f x\n".to_string()),
        ("a pure function that calls itself", "fn f (x: f32) -> f32 = f x\n".into()),
        ("two pure functions that call each other", "fn f (x: f32) -> f32 = g x\nfn g (x: f32) -> f32 = f x\n".into()),
        ("a function of indices that applies itself", "fn f (i: Nat) -> Nat = f i\nconst A = f 1\n".into()),
        ("a constant of itself", "const A = A + 1\n".into()),
        ("two constants of each other", "const A = B\nconst B = A\n".into()),
        ("a record in itself", "record R where\n  a: R\n\nfn f (reads x: [R; N]) -> out y: [R; N] =\n  for i in 0 .. N do store y[i] = load x[i]\n".into()),
        ("two records in each other", "record R where\n  a: S\n\nrecord S where\n  a: R\n".into()),
        ("a schedule function that calls itself", format!("{PRODUCT}schedule fn s (i, j) =\n  s (j, i)\n\nschedule t of product =\n  s (i, j)\n")),
        ("a schedule of itself", format!("{PRODUCT}schedule s of s =\n  interchange (i, j)\n")),
        ("two schedules of each other", format!("{PRODUCT}schedule s of t =\n  interchange (i, j)\n\nschedule t of s =\n  interchange (i, j)\n")),
        ("a `main` that calls itself", "fn main () =\n  main\n".into()),
        ("an implementation by itself", "import \"cachet:monoid\"\n\nimpl Monoid for A f32 where\n  const Value = f32\n  fn empty () = A.empty ()\n  fn combine a b = A.combine a b\n".into()),
        ("an implementation whose words are its own", "import \"cachet:monoid\"\n\nimpl Monoid for A f32 where\n  const Value = A.Value\n  fn empty () = 0.0\n  fn combine a b = a\n".into()),
        (
            "defaults that are each other",
            "interface I where\n  const Value: Type\n  fn f a -> Value = g a\n  fn g a -> Value = f a\n\nimpl I for A f32 where\n  const Value = f32\n".into(),
        ),
    ];
    let mut out: Vec<Hostile> = texts.into_iter().map(|(name, text)| Hostile::text(name, text).refused()).collect();
    out.extend(imports());
    out
}

fn imports() -> Vec<Hostile> {
    let of =
        |what: &str, path: &str| Hostile::text(format!("an import of {what}"), format!("import \"{path}\"\n{MAIN}"));
    let file = |text: &str| Entry::File(text.into());
    let mut out = vec![
        of("itself", "root.cachet").refused(),
        of("itself by a long way", "folder/../root.cachet").with("folder", Entry::Folder).refused(),
        of("a file that imports the first", "other.cachet")
            .with("other.cachet", file("import \"root.cachet\"\n"))
            .refused(),
        of("itself through a link", "link.cachet").with("link.cachet", Entry::Link("root.cachet".into())).refused(),
        of("a link to itself", "link.cachet").with("link.cachet", Entry::Link("link.cachet".into())).refused(),
        of("a link to nothing", "link.cachet").with("link.cachet", Entry::Link("nothing".into())).refused(),
        of("itself through a folder's link", "here/here/here/root.cachet")
            .with("here", Entry::Link(".".into()))
            .refused(),
        of("a folder", "folder").with("folder", Entry::Folder).refused(),
        of("the folder it is in", ".").refused(),
        of("the folder above", "..").refused(),
        of("a pipe", "pipe.cachet").with("pipe.cachet", Entry::Pipe).refused(),
        of("a link to a pipe", "link.cachet")
            .with("pipe", Entry::Pipe)
            .with("link.cachet", Entry::Link("pipe".into()))
            .refused(),
        of("a device that never ends", "/dev/zero").refused(),
        of("a device that waits", "/dev/tty").refused(),
        of("a device through a link", "link.cachet").with("link.cachet", Entry::Link("/dev/zero".into())).refused(),
        of("nothing", "").refused(),
        of("the standard input", "/dev/stdin").refused(),
        of("a place that the system makes up", "/proc/self/mem").refused(),
        of("a file outside", "../../../../../../../../etc/passwd").refused(),
        of("a module that is none", "cachet:nothing").refused(),
        of("a path in a module", "cachet:../steps").refused(),
        of("a path with a line end", "a\\nb").refused(),
        of("a path with a zero", "a\\0b").refused(),
        of("a path with a zero in it", "a\0b").refused(),
        of("a path as long as no path is", &"a/".repeat(100_000)).refused(),
        of("an address", "https://example.com/a.cachet").refused(),
        of("an empty file", "empty.cachet").with("empty.cachet", file("")),
        of("bytes that are no text", "bytes.cachet").with("bytes.cachet", Entry::File((0..=255).collect())).refused(),
        of("a file beyond the limit", "large.cachet").with("large.cachet", Entry::File(vec![b' '; 5 << 20])).refused(),
    ];
    let mut chain = Hostile::text("a chain of a thousand imports", format!("import \"a1.cachet\"\n{MAIN}")).refused();
    let mut wide = String::new();
    for i in 1..=1_000 {
        chain = chain.with(&format!("a{i}.cachet"), file(&format!("import \"a{}.cachet\"\n", i + 1)));
        wide += &format!("import \"w{i}.cachet\"\n");
    }
    let mut row = Hostile::text("a thousand files side by side", format!("{wide}{MAIN}"));
    for i in 1..=1_000 {
        row = row.with(&format!("w{i}.cachet"), file(&format!("const W{i} = 1\n")));
    }
    out.extend([chain, row]);
    let root = |name: &str, entry: Entry| {
        Hostile { entries: [(super::ROOT.into(), entry)].into(), ..Hostile::text(name, "") }.refused()
    };
    out.extend([
        root("a folder for a file", Entry::Folder),
        root("a pipe for a file", Entry::Pipe),
        root("a device for a file", Entry::Link("/dev/zero".into())),
        root("a link to itself for a file", Entry::Link(super::ROOT.into())),
        root("nothing for a file", Entry::Link("nothing".into())),
    ]);
    out
}
