use super::{Memory, find, lines, load_files, load_text, only};

const FILL: &str = "fn fill (mut c: [f32; N]) =\n  for i in 0 .. N do\n    store c[i] = 1.0\n";

fn loaded(files: Memory) -> (Vec<String>, Vec<String>) {
    let (module, diagnostics, _) = load_files("d/a.cachet", &files);
    let names = module.map_or_else(Vec::new, |m| m.program.funs.iter().map(|f| f.name.clone()).collect());
    (lines(&diagnostics), names)
}

#[test]
fn a_path_is_relative_to_the_file_that_imports() {
    let files = Memory::default()
        .with("d/a.cachet", "import \"../e/b.cachet\"\n\nfn g (mut c: [f32; N]) =\n  middle c\n")
        .with("e/b.cachet", "import \"f/c.cachet\"\n\nfn middle (mut c: [f32; N]) =\n  fill c\n")
        .with("e/f/c.cachet", FILL);
    assert_eq!(loaded(files), (vec![], vec!["fill".to_string(), "middle".into(), "g".into()]));
}

#[test]
fn only_the_root_files_items_are_items() {
    let files = Memory::default()
        .with("d/a.cachet", "import \"b.cachet\"\n\nfn g (mut c: [f32; N]) =\n  fill c\n")
        .with("d/b.cachet", FILL);
    let (module, _, _) = load_files("d/a.cachet", &files);
    let module = module.unwrap();
    assert_eq!(module.items, [find(&module, "g").0]);
}

#[test]
fn imports_are_not_transitive() {
    let files = Memory::default()
        .with("d/a.cachet", "import \"b.cachet\"\n\nfn g (mut c: [f32; N]) =\n  fill c\n")
        .with("d/b.cachet", "import \"c.cachet\"\n")
        .with("d/c.cachet", FILL);
    let (reports, names) = loaded(files);
    assert_eq!(reports, ["unknown-name: there is no function `fill` here"]);
    assert_eq!(names, ["fill"]);
}

#[test]
fn a_file_reached_twice_is_read_once() {
    let files = Memory::default()
        .with("d/a.cachet", "import \"b.cachet\"\nimport \"./c.cachet\"\nimport \"../d/c.cachet\"\n")
        .with("d/b.cachet", "import \"c.cachet\"\n")
        .with("d/c.cachet", FILL);
    assert_eq!(loaded(files), (vec![], vec!["fill".to_string()]));
}

#[test]
fn circles_are_refused_with_their_files() {
    let files = Memory::default()
        .with("d/a.cachet", "import \"b.cachet\"\n")
        .with("d/b.cachet", "import \"c.cachet\"\n")
        .with("d/c.cachet", "import \"a.cachet\"\n");
    let (_, diagnostics, sources) = load_files("d/a.cachet", &files);
    assert_eq!(lines(&diagnostics).len(), 1);
    assert!(lines(&diagnostics)[0].starts_with("import-cycle: `d/a.cachet` imports itself"));
    let chain = "d/a.cachet imports d/b.cachet imports d/c.cachet imports d/a.cachet";
    assert_eq!(diagnostics[0].notes, [chain]);
    assert_eq!(sources.text(diagnostics[0].span().unwrap()), "\"a.cachet\"");
    let (_, itself, _) = load_files("d/a.cachet", &Memory::default().with("d/a.cachet", "import \"a.cachet\"\n"));
    assert_eq!(itself[0].notes, ["d/a.cachet imports d/a.cachet"]);
}

#[test]
fn what_is_not_there_is_said() {
    assert!(
        only("import \"cachet:monoids\"\n").0.starts_with("import-missing: the library has no module `cachet:monoids`")
    );
    let (module, diagnostics, _) = load_files("no.cachet", &Memory::default());
    assert!(module.is_none());
    assert_eq!(lines(&diagnostics), ["file: cannot read `no.cachet`: there is no such file"]);
}

#[test]
fn two_definitions_of_a_name_show_both_places() {
    let twice = format!("{FILL}\n{FILL}");
    let (module, diagnostics) = load_text(&twice);
    assert_eq!(lines(&diagnostics), ["duplicate-name: `fill` is defined twice"]);
    assert_eq!(diagnostics[0].labels.len(), 2);
    assert!(module.program.funs.len() <= 1, "only the first is kept");
    let files =
        Memory::default().with("d/a.cachet", &format!("import \"b.cachet\"\n\n{FILL}")).with("d/b.cachet", FILL);
    let (_, diagnostics, _) = load_files("d/a.cachet", &files);
    assert_eq!(lines(&diagnostics), ["duplicate-name: `fill` is defined twice"]);
    let places: Vec<u32> = diagnostics[0].labels.iter().map(|l| l.span.file.0).collect();
    assert_eq!(places, [0, 1]);
}

#[test]
fn a_text_that_is_not_utf8_is_refused() {
    struct Bytes;
    impl crate::Files for Bytes {
        fn read(&self, _: &std::path::Path) -> std::io::Result<Vec<u8>> {
            Ok(vec![b'f', 0xff, b'\n'])
        }
        fn identity(&self, path: &std::path::Path) -> std::path::PathBuf {
            path.to_path_buf()
        }
        fn library(&self, _: &str) -> Option<Vec<(&'static str, &'static str)>> {
            None
        }
    }
    let mut sources = cachet_source::Sources::new();
    let (_, diagnostics) = crate::load("a.cachet", &Bytes, &mut sources);
    assert!(lines(&diagnostics)[0].starts_with("encoding:"), "{:?}", lines(&diagnostics));
}

#[test]
fn an_interface_may_follow_its_implementations() {
    let text = "impl Group for Plus f32 where
  const Value = f32
  fn unit () = 0.0
  fn join a b = helper a b

fn helper (a: f32) (b: f32) -> f32 = a + b

interface Group where
  const Value: Type
  fn unit () -> Value
  fn join a b -> Value
";
    let (module, diagnostics) = load_text(text);
    assert_eq!(lines(&diagnostics), Vec::<String>::new());
    assert_eq!(module.program.impls[0].name, "Plus f32");
    assert_eq!(module.program.impls[0].methods.len(), 2);
}

#[test]
fn implementations_are_complete_and_typed() {
    let interface = "interface Group where\n  const Value: Type\n  fn unit () -> Value\n  fn join a b -> Value\n\n";
    let with = |members: &str| only(&format!("{interface}impl Group for Plus f32 where\n{members}")).0;
    assert!(
        with("  const Value = f32\n  fn unit () = 0.0\n").starts_with("binding: `Plus f32` does not define `join`")
    );
    assert!(
        with("  fn unit () = 0.0\n  fn join a b = a\n").starts_with("binding: `Plus f32` does not say what `Value` is")
    );
    assert!(with("  const Value = f32\n  fn unit () = 0.0\n  fn join a = a\n").starts_with("arity:"));
    assert!(with("  const Value = f32\n  fn unit () = 0\n  fn join a b = a\n").starts_with("literal:"));
    let law = with("  const Value = f32\n  fn unit () = 0.0\n  fn join a b = a\n  law jion associative over reals\n");
    assert!(law.starts_with("law:") || law.starts_with("unknown-name: there is no operation of Group `jion`"), "{law}");
}
