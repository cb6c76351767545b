//! What each slip is told, and that its neighbours survive.

use super::{lossless, shown};

fn is(text: &str, want: &[&str]) {
    assert_eq!(shown(text, &lossless(text)), want, "{text}");
}

/// A statement in a function, between two good ones that must stay.
fn in_fn(stmt: &str, want: &[&str]) {
    let text = format!("fn f () =\n  before a\n  {stmt}\n  after a\nconst N = 1\n");
    let parsed = lossless(&text);
    assert_eq!(shown(&text, &parsed), want, "{stmt}");
    assert_eq!(parsed.ast.items.len(), 2, "{stmt}");
    let crate::ast::Item::Fn(f) = &parsed.ast.items[0] else { panic!() };
    assert_eq!(f.body.stmts.len(), 2, "{stmt}");
    assert_eq!(parsed.ast.broken.len(), 1, "{stmt}");
    assert!(parsed.ast.is_broken(f.span) && !parsed.ast.is_broken(parsed.ast.items[1].span()));
}

#[test]
fn characters() {
    is("fn f () =\n\tg a\n", &["2:1 layout a tab in the indentation [\t]", "help: indent with spaces, two a level"]);
    is("const A = 1 // \0 and \0\n", &["1:16 encoding a NUL character [\0]", "help: remove it"]);
    is("const A\0 = 1\n", &["1:8 encoding a NUL character [\0]", "help: remove it"]);
    is(
        "const A = 1 // \u{202e}x\n",
        &[
            "1:16 encoding a control character that changes the direction of displayed text [\u{202e}]",
            "help: remove it",
        ],
    );
    is("const A = 1 \r+ 2\n", &["1:13 encoding a carriage return that ends no line [\r]", "help: remove it"]);
    is(
        "const A = 1 \u{2212} 2\n",
        &["1:13 token `\u{2212}` is not part of the language [\u{2212}]", "help: write `-`"],
    );
    is(
        "const Ä = 1\n",
        &[
            "1:7 token `Ä` is not part of the language [Ä]",
            "help: names are made of the letters a to z, digits, `_` and `'`",
        ],
    );
    is("fn f ()\t=\n  g\ta\n", &[]);
    let long = " ".repeat(crate::MAX_BYTES + 1);
    assert_eq!(lossless(&long).diagnostics[0].code, cachet_source::codes::LIMIT);
    let report = crate::decode(b"ab\xff", cachet_source::FileId(0)).unwrap_err();
    assert_eq!((report.code, report.span().unwrap().lo), (cachet_source::codes::ENCODING, 2));
    assert_eq!(crate::decode(b"ab", cachet_source::FileId(0)).unwrap(), "ab");
}

#[test]
fn literals() {
    in_fn(
        "let x = ...",
        &[
            "3:11 token `...` marks omitted code in documentation; it is not part of the language [...]",
            "help: write the code it stands for, or remove it",
        ],
    );
    in_fn(
        "\u{2026}",
        &[
            "3:3 token `\u{2026}` marks omitted code in documentation; it is not part of the language [\u{2026}]",
            "help: write the code it stands for, or remove it",
        ],
    );
    in_fn(
        "let x = 1. + y",
        &["3:11 token `1.` is not a number [1.]", "help: a float has digits on both sides of its point: `1.0`"],
    );
    in_fn(
        "let x = .5",
        &["3:11 token `.5` is not a number [.5]", "help: a float has digits on both sides of its point: `0.5`"],
    );
    in_fn(
        "let x = 1.0f32",
        &[
            "3:11 token `1.0f32` is not a number [1.0f32]",
            "help: a literal has no suffix: it takes the type its place wants",
        ],
    );
    in_fn("let x = 1e5", &["3:11 token `1e5` is not a number [1e5]", "help: a float has a point: `1.0e5`"]);
    in_fn(
        "let x = 0xZZ",
        &["3:11 token `0xZZ` is not a number [0xZZ]", "help: `0x` takes hexadecimal digits, `0b` takes `0` and `1`"],
    );
    in_fn("let x = 9223372036854775808", &["3:11 limit `9223372036854775808` is not below 2^63 [9223372036854775808]"]);
    is(
        "import \"a\n",
        &[
            "1:8 token a string that does not end on its line [\"a]",
            "help: close it with `\"`; several lines are several strings",
        ],
    );
    is(
        "import \"a\\qb\"\n",
        &[
            "1:10 token an escape that strings do not have [\\q]",
            "help: strings have the escapes `\\\"`, `\\\\`, `\\n` and `\\t`",
        ],
    );
}

#[test]
fn slips_in_expressions() {
    in_fn(
        "let x = a [i]",
        &["3:13 syntax a blank before the `[` of an index [[]", "help: remove it: `x[i]` is an index"],
    );
    in_fn(
        "let x = max y -1.0",
        &[
            "3:17 syntax `-1.0` after a call reads like an argument and is a subtraction [-1.0]",
            "help: write `(-1.0)` for an argument, `- 1.0` for a subtraction",
        ],
    );
    in_fn("let x = a < b < c", &["3:17 syntax comparisons do not chain [<]", "help: write `a < b && b < c`"]);
    in_fn(
        "let x = a + sum k. b",
        &[
            "3:15 syntax `sum` extends as far right as it can and is no operand [sum]",
            "help: put it in parentheses: `(sum …)`",
        ],
    );
    in_fn(
        "let x = fma load a[i]",
        &["3:15 syntax a `load` as an argument needs parentheses [load]", "help: write `(load …)`"],
    );
    in_fn(
        "let x = f (a, b",
        &["3:18 syntax expected `)`, found the end of the line []", "help: the lines below start a new entry"],
    );
    in_fn("let x = (a]) + (b", &["3:13 syntax expected `)`, found `]` []]"]);
    in_fn("let x = W { a: 1 }", &["3:16 syntax expected `}`, found `:` [:]", "help: a field is given with `=`"]);
    in_fn(
        "let x = a . b",
        &[
            "3:13 syntax a `.` that neither belongs to a field nor ends the indices of a `sum` [.]",
            "help: a field is written without blanks: `gk.len`",
        ],
    );
    in_fn(
        "let x = $y",
        &[
            "3:11 syntax the hole `$y` outside a step function [$y]",
            "help: holes stand only in the `from`, `to` and `relate` of a `step fn`",
        ],
    );
    in_fn(
        "let x = sum k a",
        &[
            "3:17 syntax expected `.`, found the name `a` [a]",
            "help: the indices of a `sum` or `reduce` end with a dot: `sum k. e`",
        ],
    );
    in_fn(
        "let x = if a then b",
        &["3:22 syntax expected `else`, found the end of the line []", "help: as a value, `if` needs an `else`"],
    );
    in_fn(
        "let x = f a; g b",
        &[
            "3:14 syntax expected the end of the entry, found `;` [;]",
            "help: entries end with their line: write one a line",
        ],
    );
    in_fn("let x = a @", &["3:14 syntax expected a type, or `(NAME = TYPE)`, after `@`, found the end of the line []"]);
    in_fn(
        "let x =",
        &[
            "3:10 syntax expected a value after `=`, found the end of the line []",
            "help: write it on this line, or on the lines below, right of column 3",
        ],
    );
}

#[test]
fn slips_in_statements() {
    in_fn(
        "for i in 0 .. M store c[i] = x",
        &[
            "3:19 syntax expected `do`, found the word `store` [store]",
            "help: the header of a loop or `fold` ends in `do`",
        ],
    );
    in_fn(
        "for i in 0 .. M",
        &[
            "3:18 syntax expected `do`, found the end of the line []",
            "help: the header of a loop or `fold` ends in `do`",
        ],
    );
    in_fn(
        "for i in M do f a",
        &[
            "3:14 syntax expected `..` and the end of the range, found the word `do` [do]",
            "help: a range is written `0 .. M`",
        ],
    );
    in_fn(
        "if a = b then f a",
        &["3:8 syntax expected `then`, found `=` [=]", "help: `=` gives a value; values are compared with `==`"],
    );
    in_fn(
        "let x == 3",
        &["3:9 syntax expected `=`, found `==` [==]", "help: `==` compares; a value is given with `=`"],
    );
    in_fn("x += 1", &["3:6 syntax expected an operand, found `=` [=]", "help: there is no `+=`: write `x = x + …`"]);
    in_fn(
        "let sum = 3",
        &[
            "3:7 syntax expected a name, found the word `sum` [sum]",
            "help: `sum` is a reserved word: choose another name, such as `sum_`",
        ],
    );
    in_fn(
        "fro i in 0 .. M do f a",
        &["3:9 syntax expected the end of the entry, found the word `in` [in]", "help: `fro` may be meant to be `for`"],
    );
    in_fn(
        "f a = 3",
        &["3:7 syntax only a variable or a cell of one can be assigned [=]", "help: values are compared with `==`"],
    );
    in_fn(
        "for i in 0 .. M do",
        &[
            "3:21 syntax expected a statement after `do`, found the end of the line []",
            "help: write it on this line, or on the lines below, right of column 3",
        ],
    );
    in_fn(
        "for i in 0 .. M {",
        &["3:19 syntax expected `do`, found `{` [{]", "help: blocks are made by indentation, not by braces"],
    );
    in_fn("in x", &["3:3 syntax expected a statement, found the word `in` [in]"]);
}

#[test]
fn layout() {
    let text = "fn f () =\n  for i in 0 .. M do\n      g a\n    h a\n  after a\n";
    let parsed = lossless(text);
    assert_eq!(
        shown(text, &parsed),
        [
            "4:5 layout this line starts at column 5, where no block stands [h]",
            "help: the blocks open here stand at columns 1, 3, 7"
        ]
    );
    let crate::ast::Item::Fn(f) = &parsed.ast.items[0] else { panic!() };
    assert_eq!(f.body.stmts.len(), 2);
    is(
        "  const A = 1\nconst B = 2\n",
        &[
            "1:3 layout the file's first entry starts at column 3 [const]",
            "help: modules, imports and items start at column 1",
        ],
    );
}

#[test]
fn items() {
    is(
        "contracton mm =\n  x\nconst A = 1\n",
        &[
            "1:1 syntax expected an item, such as `fn`, `contraction` or `schedule`, found the name `contracton` [contracton]",
            "help: `contracton` may be meant to be `contraction`",
        ],
    );
    is(
        "for i in 0 .. M do\n  f a\n",
        &[
            "1:1 syntax expected an item, found the word `for` [for]",
            "help: statements stand in the body of a function, indented below it",
        ],
    );
    is(
        "const A = 1\nimport \"x\"\n",
        &["2:1 syntax imports stand before the file's items [import]", "help: move this line to the top of the file"],
    );
    is("import \"x\"\nmodule (platform = A)\n", &["2:1 syntax `module` stands once, before everything else [module]"]);
    is("fn f ()\nconst A = 1\n", &["1:8 syntax expected `=` and the body, found the end of the line []"]);
    is(
        "fn f () == g a\n",
        &["1:9 syntax expected `=` and the body, found `==` [==]", "help: `==` compares; a body follows `=`"],
    );
    is("fn f (a [f32; N]) = g a\n", &["1:9 syntax expected `:` and the parameter's type, found `[` [[]"]);
    is(
        "fn f () scratch p scratch q = g a\n",
        &["1:19 syntax a second `scratch` clause [scratch q]", "help: a clause stands once: join their lists"],
    );
    is(
        "record R where\n  a f32\n  b: f32\n",
        &["2:5 syntax expected `:` and the field's type, found the name `f32` [f32]"],
    );
    is(
        "impl A for B where\n  law add over\n  law mul associative over reals\n",
        &["2:15 syntax expected `reals`, found the end of the line []"],
    );
}

#[test]
fn habits_from_elsewhere() {
    in_fn(
        "let x := 3",
        &[
            "3:9 syntax expected `=`, found `:=` [:=]",
            "help: `:=` stands only in a substitution; a value is given with `=`",
        ],
    );
    in_fn("let x = y ** 2", &["3:14 syntax expected an operand, found `*` [*]", "help: there is no `**`: multiply"]);
    in_fn(
        "print \"x\"",
        &[
            "3:9 syntax expected the end of the entry, found a string [\"x\"]",
            "help: strings stand only after `import`, `source`, `by_target` and a law's `=`",
        ],
    );
    in_fn(
        "while i < 3 do",
        &[
            "3:15 syntax expected the end of the entry, found the word `do` [do]",
            "help: loops have known bounds: `for i in lo .. hi do`",
        ],
    );
    in_fn(
        "let x = sum(k) y",
        &[
            "3:14 syntax expected an index's name, found `(` [(]",
            "help: the indices of a `sum` or `reduce` stand without parentheses: `sum k, l. e`",
        ],
    );
    is(
        "def f () = 3\n",
        &[
            "1:1 syntax expected an item, such as `fn`, `contraction` or `schedule`, found the name `def` [def]",
            "help: functions start with `fn`",
        ],
    );
    is(
        "law a over reals\n",
        &[
            "1:1 syntax expected an item, such as `fn`, `contraction` or `schedule`, found the word `law` [law]",
            "help: laws stand in an `interface` or `impl`",
        ],
    );
    is(
        "contraction c (x: f32) -> y: f32 =\n  y[i] = x\n",
        &["1:28 syntax expected `=` and the body, found `:` [:]", "help: an output is written `-> out c: TYPE`"],
    );
    is(
        "schedule s of m\n  zero i\n",
        &["2:3 syntax expected a clause or `=`, found the name `zero` [zero]", "help: a header ends in `=`"],
    );
}

#[test]
fn forms_of_steps() {
    let step = |text: &str, want: &[&str]| is(&format!("schedule s of m =\n  zero i\n  {text}\n  zero i\n"), want);
    step(
        "split i into 4",
        &[
            "3:11 syntax expected `by`, found the word `into` [into]",
            "help: the step is written `split LOOP by SIZE as NAME, SIZE as NAME ragged, …`",
        ],
    );
    step(
        "keep P along gi in L1",
        &[
            "3:19 syntax expected `within`, found the word `in` [in]",
            "help: the step is written `keep BUFFER along LOOP within LEVEL into NAME`",
        ],
    );
    step(
        "order (i, j) c",
        &[
            "3:16 syntax expected the end of the step, found the name `c` [c]",
            "help: the step is written `order (LOOP, LOOP, …)`",
        ],
    );
    step("hoist (j, k) c with d", &[]);
    step(
        "zero i := 3",
        &[
            "3:10 syntax expected an argument of the step or the end of the line, found `:=` [:=]",
            "help: `:=` stands only in a substitution; a value is given with `=`",
        ],
    );
}

#[test]
fn steps() {
    is(
        "schedule s of m =\n  splt i by 4\n  zero i\n",
        &[
            "2:10 syntax expected an argument of the step or the end of the line, found the word `by` [by]",
            "help: `splt` may be meant to be `split`",
        ],
    );
    is(
        "schedule s of m =\n  split i by 16, 4 as u\n",
        &["2:14 syntax a level without a name [16]", "help: more levels than one need `as NAME` each"],
    );
    is(
        "schedule s of m =\n  order (i.inner.outer)\n",
        &["2:17 syntax `.outer` and `.inner` do not chain [.]", "help: name the loop with `as` when it is split"],
    );
    is(
        "step fn s x =\n  from\n    f $a\n",
        &[
            "1:9 syntax the step `s` has no `to` [s]",
            "help: a step has `from`, `to` and at most one `relate`, in this order",
        ],
    );
    is(
        "step fn s x =\n  to\n    f $a\n  from\n    f $a\n",
        &[
            "4:3 syntax `from` stands here a second time, or too late [from\n    f $a]",
            "help: a step has `from`, `to` and at most one `relate`, in this order",
        ],
    );
    is(
        "step fn s x =\n  from\n    f $a\n  to\n    f $a\n  relate\n    interchange k\n",
        &["7:17 syntax expected `S` (the program before) or `T` (the program after), found the name `k` [k]"],
    );
    is("schedule fn s (i.., j) =\n  zero i\n", &["1:17 syntax expected `)`, found `..` [..]"]);
    is("schedule s of m =\n  zero i#0\n", &["2:10 syntax loops of one name are counted from `#1` [0]"]);
}
