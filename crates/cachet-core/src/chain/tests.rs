use super::{Break, Operation, Uses};
use crate::ir::{
    Binding, Device, Domain, Elem, Fold, Fun, Guard, Impl, ImplId, Interface, Ix, Local, LocalInfo, Op, Parts, Prim,
    Program, PureId, Role, Ty, Var, Word,
};
use crate::law::{Law, Property, Sense, StatedLaw};
use crate::samples::{Build, F32, empty_fun, lit, load, local, n, op, pure, to, v};

/// `join a b = min b a` of f32, `twice a b = a + b * a`, and `fused p q c = min c (p + q)`.
fn program() -> Program {
    let methods = [("join".to_string(), 2), ("twice".into(), 2), ("fused".into(), 3)];
    let law = Law { property: Property::MulAdd { fused: 2, mul: 1, add: 0 }, sense: Sense::Reals };
    Program {
        interfaces: vec![Interface { name: "Joining".into(), laws: vec![], methods: methods.to_vec() }],
        impls: vec![Impl {
            name: "Own f32".into(),
            interface: 0,
            value: F32,
            methods: vec![PureId(0), PureId(1), PureId(2)],
            laws: vec![StatedLaw { law, reason: None, span: Default::default() }],
        }],
        pures: vec![
            pure("join", 2, |l| op(Prim::Min, vec![l(1), l(0)])),
            pure("twice", 2, |l| op(Prim::Add, vec![l(0), op(Prim::Mul, vec![l(1), l(0)])])),
            pure("fused", 3, |l| op(Prim::Sub, vec![l(2), op(Prim::Add, vec![l(0), l(1)])])),
        ],
        ..Program::default()
    }
}

/// A function with an input, and its running totals `b` and `c`.
fn fun() -> (Fun, [Word; 2], Local, Local) {
    let mut f = empty_fun("f");
    let size = f.size("N");
    let x = f.param("x", F32, &[v(size)], Role::Reads);
    let terms = [load(x, &[n(0)]), load(x, &[n(1)])];
    let (b, c) = (f.let_("b", F32), f.let_("c", F32));
    (f, terms, b, c)
}

fn chain(method: u32, make: impl Fn([Word; 2], Word, Local) -> Word) -> Result<Uses, Break> {
    let (program, (f, terms, b, c)) = (program(), fun());
    let op = Operation { of: Binding::Impl(ImplId(0)), method };
    op.chain(&program, &f, &make(terms, local(b), c), b)
}

fn min(a: Word, b: Word) -> Word {
    op(Prim::Min, vec![a, b])
}

const PLAIN: Result<Uses, Break> = Ok(Uses { commuted: false, fused: None });
const COMMUTED: Result<Uses, Break> = Ok(Uses { commuted: true, fused: None });

#[test]
fn a_chain_carries_its_total_along_one_way() {
    assert_eq!(chain(0, |_, b, _| b), PLAIN);
    // The implementation's own text: its second operand comes first.
    assert_eq!(chain(0, |[x, _], b, _| min(x, b)), PLAIN);
    assert_eq!(chain(0, |[x, _], b, _| min(b, x)), COMMUTED);
    assert_eq!(chain(0, |[x, y], b, _| min(y, min(x, b))), PLAIN);
    assert_eq!(chain(0, |[x, y], b, _| min(y, min(b, x))), COMMUTED);
    assert_eq!(chain(0, |[x, _], b, _| Word::Apply(PureId(0), vec![b, x])), PLAIN);
    let guard = Box::new(Guard::Cmp(crate::ir::Rel::Lt, Ix::Lit(0), Ix::Var(Var(0))));
    assert_eq!(chain(0, |[x, _], b, _| Word::If(guard.clone(), Box::new(min(x, b.clone())), Box::new(b))), PLAIN);
    assert_eq!(chain(0, |[x, y], b, c| Word::Let(c, Box::new(min(x, b)), Box::new(min(y, local(c))))), PLAIN);
    assert_eq!(chain(2, |_, b, _| b), PLAIN, "an operation of three operands joins nothing");
}

#[test]
fn a_sum_inside_goes_on_from_the_total() {
    let sum = |init: Word, body: Word, acc: Local| {
        let domain: Domain = to(n(0), n(4));
        let (regroup, span) = (false, Default::default());
        Word::Fold(Box::new(Fold { var: Var(0), domain, acc, init, body, regroup, span }))
    };
    assert_eq!(chain(0, |[x, _], b, c| sum(b, min(x, local(c)), c)), PLAIN);
    assert_eq!(chain(0, |[x, _], b, c| sum(b.clone(), min(b, min(x, local(c))), c)), Err(Break::Twice));
    assert_eq!(chain(0, |[x, _], b, c| sum(x, min(b, local(c)), c)), Err(Break::Twice));
    assert_eq!(chain(0, |[x, _], b, c| sum(b, x, c)), Err(Break::Anew));
}

#[test]
fn what_breaks_a_chain() {
    assert_eq!(chain(0, |[x, _], _, _| x), Err(Break::Anew));
    assert_eq!(chain(0, |_, b, _| min(b.clone(), b)), Err(Break::Twice));
    assert_eq!(chain(0, |[x, _], b, _| op(Prim::Max, vec![x, b])), Err(Break::Other));
    assert_eq!(chain(0, |[x, _], b, _| op(Prim::Neg, vec![min(x, b)])), Err(Break::Other));
    assert_eq!(
        chain(0, |[x, _], b, _| Word::Op { op: Op::Prim(Prim::Min), arith: Device(1), args: vec![x, b] }),
        Err(Break::Other),
        "another device's arithmetic"
    );
}

/// An operand that the operation uses twice is one word in both places, named or not.
#[test]
fn an_operand_may_be_used_twice() {
    let twice = |a: Word, x: Word, y: Word| op(Prim::Add, vec![a, op(Prim::Mul, vec![x, y])]);
    assert_eq!(chain(1, |[x, _], b, _| twice(b.clone(), x, b)), PLAIN);
    assert_eq!(chain(1, |[x, y], b, _| twice(x.clone(), y, b.clone())), Err(Break::Other));
    assert_eq!(
        chain(1, |[x, _], b, c| Word::Let(
            c,
            Box::new(twice(b.clone(), x.clone(), b)),
            Box::new(twice(local(c), x, local(c)))
        )),
        PLAIN
    );
}

#[test]
fn an_operation_of_three_operands_takes_the_chain_last() {
    let fused = |p: Word, q: Word, c: Word| op(Prim::Sub, vec![c, op(Prim::Add, vec![p, q])]);
    assert_eq!(chain(0, |[x, y], b, _| fused(x, y, b)), Ok(Uses { commuted: false, fused: Some(2) }));
    assert_eq!(chain(0, |[x, y], b, _| fused(x, b, y)), Err(Break::Twice));
}

/// The same text at another type is another operation.
#[test]
fn operands_have_the_type_of_the_implementation() {
    let (mut program, (mut f, [x, _], b, _)) = (program(), fun());
    let join = Operation { of: Binding::Impl(ImplId(0)), method: 0 };
    f.locals[b.index()].ty = Ty::Elem(Elem::F64);
    assert_eq!(join.chain(&program, &f, &min(x.clone(), local(b)), b), Err(Break::Other));
    f.locals[b.index()].ty = F32;
    f.buffers[0].elem = Ty::Elem(Elem::F64);
    assert_eq!(join.chain(&program, &f, &min(x.clone(), local(b)), b), Err(Break::Other));
    f.buffers[0].elem = F32;
    assert!(join.chain(&program, &f, &min(x.clone(), local(b)), b).is_ok());
    program.impls[0].value = Ty::Elem(Elem::F16);
    assert_eq!(join.chain(&program, &f, &min(x, local(b)), b), Err(Break::Other));
}

/// A tuple taken apart and put together again is itself.
#[test]
fn records_are_joined_field_by_field() {
    let ty = Ty::Tuple(Parts { types: vec![F32, F32], record: None });
    let mut program = program();
    program.impls[0].value = ty.clone();
    let fields = |a: &Word, b: &Word| {
        let part = |w: &Word, n| w.clone().part(n);
        Word::Tuple(vec![min(part(a, 0), part(b, 0)), op(Prim::Max, vec![part(a, 1), part(b, 1)])])
    };
    let info =
        |name: &str| LocalInfo { name: name.into(), ty: ty.clone(), dims: vec![], vector: false, mutable: false };
    program.pures[0].locals = vec![info("a"), info("b")];
    program.pures[0].result = ty.clone();
    program.pures[0].body = fields(&local(Local(0)), &local(Local(1)));
    let (mut f, _, _, _) = fun();
    f.buffers[0].elem = ty.clone();
    let b = f.let_("t", ty);
    let x = load(crate::ir::Buffer(0), &[n(0)]);
    let join = Operation { of: Binding::Impl(ImplId(0)), method: 0 };
    assert_eq!(join.chain(&program, &f, &fields(&local(b), &x), b), PLAIN);
    assert_eq!(join.chain(&program, &f, &fields(&x, &local(b)), b), COMMUTED);
    let pair = |a: Word, c: Word| Word::Tuple(vec![a, c]);
    assert_eq!(join.chain(&program, &f, &fields(&local(b), &pair(lit(1.0), lit(2.0))), b), PLAIN);
    let turned = pair(local(b).part(1), local(b).part(0));
    assert_eq!(join.chain(&program, &f, &fields(&turned, &x), b), Err(Break::Other));
}
