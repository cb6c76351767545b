//! How does a word of one element type become one of another?
//!
//! Between floats and from integers: rounded once, to nearest even. From floats to integers: towards zero, saturating, NaN
//! to 0. Between integers: the low bits, which are all that count where the number fits. A narrowed NaN is the canonical one.
//!
//! A 16-bit float is reached through `f32` in two steps. The first rounds *to odd*: what is not exact gets an odd last
//! bit, so that the second step sees on which side of its own boundaries the number lies, and the two round like one.

use crate::function::Lower;
use crate::types::{bits, canonical_nan, constant, is_signed, register};
use cachet_core::interpret::scalar::range;
use cachet_core::ir::Elem;

/// 2^53: integers up to there are exact as `f64`.
const EXACT: i64 = 1 << 53;

impl Lower<'_, '_> {
    /// The word `name` of `from` as a word of `to`, which is not `bool` unless `from` is.
    pub(crate) fn convert(&mut self, from: Elem, to: Elem, name: &str) -> String {
        if from == to {
            return name.into();
        }
        match (from.is_float(), to.is_float()) {
            (true, true) => self.float_to_float(from, to, name),
            (false, true) => self.int_to_float(from, to, name),
            (true, false) => {
                let (from, name) = self.wide(from, name);
                self.float_to_int(from, to, &name)
            }
            (false, false) => self.int_to_int(from, to, name),
        }
    }

    fn int_to_int(&mut self, from: Elem, to: Elem, name: &str) -> String {
        let (a, b) = (register(from), register(to));
        match bits(from).cmp(&bits(to)) {
            std::cmp::Ordering::Equal => name.into(),
            std::cmp::Ordering::Greater => self.em.def(format_args!("trunc {a} {name} to {b}")),
            std::cmp::Ordering::Less => {
                let op = if is_signed(from) { "sext" } else { "zext" };
                self.em.def(format_args!("{op} {a} {name} to {b}"))
            }
        }
    }

    /// An integer as the nearest one of another type.
    pub(crate) fn saturate(&mut self, from: Elem, to: Elem, name: &str) -> String {
        let (Some((lo, hi)), Some((least, most))) = (range(from), range(to)) else { return name.into() };
        let ty = register(from);
        let (smaller, larger) = if is_signed(from) { ("smin", "smax") } else { ("umin", "umax") };
        let width = bits(from);
        let mut name = name.to_string();
        // A limit that no word of `from` passes may not even be one.
        for (op, limit, passes) in [(smaller, most, hi > most), (larger, least, lo < least)] {
            if passes {
                name = self.em.def(format_args!("call {ty} @llvm.{op}.i{width}({ty} {name}, {ty} {limit})"));
            }
        }
        self.int_to_int(from, to, &name)
    }

    /// The quotient of two integers rounded down, and what it leaves. By 0 the quotient is 0.
    ///
    /// LLVM's own division has no meaning where the divisor is 0 or the quotient does not fit; both are kept from it, so
    /// that a quotient which nobody uses may be computed anywhere.
    pub(crate) fn floor_division(&mut self, elem: Elem, a: &str, b: &str) -> (String, String) {
        let ty = register(elem);
        let none = self.em.def(format_args!("icmp eq {ty} {b}, 0"));
        let by = self.em.def(format_args!("select i1 {none}, {ty} 1, {ty} {b}"));
        if !is_signed(elem) {
            let q = self.em.def(format_args!("udiv {ty} {a}, {by}"));
            let r = self.em.def(format_args!("urem {ty} {a}, {by}"));
            return self.by_nothing(ty, &none, (&q, &r), a);
        }
        let turns = self.em.def(format_args!("icmp eq {ty} {b}, -1"));
        let by = self.em.def(format_args!("select i1 {turns}, {ty} 1, {ty} {by}"));
        let q = self.em.def(format_args!("sdiv {ty} {a}, {by}"));
        let r = self.em.def(format_args!("srem {ty} {a}, {by}"));
        let negated = self.em.def(format_args!("sub {ty} 0, {a}"));
        let q = self.em.def(format_args!("select i1 {turns}, {ty} {negated}, {ty} {q}"));
        let signs = self.em.def(format_args!("xor {ty} {r}, {by}"));
        let apart = self.em.def(format_args!("icmp slt {ty} {signs}, 0"));
        let some = self.em.def(format_args!("icmp ne {ty} {r}, 0"));
        let down = self.em.def(format_args!("and i1 {apart}, {some}"));
        let one = self.em.def(format_args!("sext i1 {down} to {ty}"));
        let q = self.em.def(format_args!("add {ty} {q}, {one}"));
        let back = self.em.def(format_args!("select i1 {down}, {ty} {by}, {ty} 0"));
        let r = self.em.def(format_args!("add {ty} {r}, {back}"));
        self.by_nothing(ty, &none, (&q, &r), a)
    }

    fn by_nothing(&mut self, ty: &str, none: &str, (q, r): (&str, &str), a: &str) -> (String, String) {
        (
            self.em.def(format_args!("select i1 {none}, {ty} 0, {ty} {q}")),
            self.em.def(format_args!("select i1 {none}, {ty} {a}, {ty} {r}")),
        )
    }

    fn float_to_int(&mut self, from: Elem, to: Elem, name: &str) -> String {
        let (a, b) = (register(from), register(to));
        let op = if is_signed(to) { "fptosi" } else { "fptoui" };
        let width = bits(from);
        self.em.def(format_args!("call {b} @llvm.{op}.sat.{b}.f{width}({a} {name})"))
    }

    fn int_to_float(&mut self, from: Elem, to: Elem, name: &str) -> String {
        match to {
            Elem::F16 | Elem::BF16 => {
                let double = self.int_to_double_odd(from, name);
                self.narrow(Elem::F64, to, &double)
            }
            _ => {
                let op = if is_signed(from) { "sitofp" } else { "uitofp" };
                self.em.def(format_args!("{op} {} {name} to {}", register(from), register(to)))
            }
        }
    }

    /// An integer as `f64`, rounded to odd where it does not fit: the eleven low bits become one.
    fn int_to_double_odd(&mut self, from: Elem, name: &str) -> String {
        let ty = register(from);
        let op = if is_signed(from) { "sitofp" } else { "uitofp" };
        if bits(from) < 64 {
            return self.em.def(format_args!("{op} {ty} {name} to double"));
        }
        let low = self.em.def(format_args!("and i64 {name}, 2047"));
        let inexact = self.em.def(format_args!("icmp ne i64 {low}, 0"));
        let high = self.em.def(format_args!("and i64 {name}, -2048"));
        let odd = self.em.def(format_args!("or i64 {high}, 2048"));
        let odd = self.em.def(format_args!("select i1 {inexact}, i64 {odd}, i64 {high}"));
        let (shifted, span) = if is_signed(from) {
            (self.em.def(format_args!("add i64 {name}, {EXACT}")), 2 * EXACT)
        } else {
            (name.into(), EXACT)
        };
        let fits = self.em.def(format_args!("icmp ult i64 {shifted}, {span}"));
        let exact = self.em.def(format_args!("select i1 {fits}, i64 {name}, i64 {odd}"));
        self.em.def(format_args!("{op} i64 {exact} to double"))
    }

    fn float_to_float(&mut self, from: Elem, to: Elem, name: &str) -> String {
        let (from, name) = self.wide(from, name);
        match (from, to) {
            (Elem::F32, Elem::F64) => self.em.def(format_args!("fpext float {name} to double")),
            (Elem::F64, Elem::F32) => {
                let cut = self.em.def(format_args!("fptrunc double {name} to float"));
                let nan = self.is_nan(Elem::F64, &name);
                let canonical = constant(Elem::F32, canonical_nan(Elem::F32));
                self.em.def(format_args!("select i1 {nan}, float {canonical}, float {cut}"))
            }
            (from, to) if from == to => name,
            (from, to) => self.narrow(from, to, &name),
        }
    }

    /// A 16-bit float as `f32`, exactly; another as it is.
    fn wide(&mut self, from: Elem, name: &str) -> (Elem, String) {
        match from {
            Elem::F16 => {
                let half = self.em.def(format_args!("bitcast i16 {name} to half"));
                (Elem::F32, self.em.def(format_args!("fpext half {half} to float")))
            }
            Elem::BF16 => {
                let word = self.em.def(format_args!("zext i16 {name} to i32"));
                let word = self.em.def(format_args!("shl i32 {word}, 16"));
                (Elem::F32, self.em.def(format_args!("bitcast i32 {word} to float")))
            }
            _ => (from, name.into()),
        }
    }

    /// `f32` or `f64` as a 16-bit float.
    fn narrow(&mut self, from: Elem, to: Elem, name: &str) -> String {
        let single = if from == Elem::F64 { self.double_to_single_odd(name) } else { name.into() };
        let cut = if to == Elem::F16 {
            let half = self.em.def(format_args!("fptrunc float {single} to half"));
            self.em.def(format_args!("bitcast half {half} to i16"))
        } else {
            // Not `fptrunc .. to bfloat`: processors that have an instruction for it flush subnormals.
            let word = self.em.def(format_args!("bitcast float {single} to i32"));
            let upper = self.em.def(format_args!("lshr i32 {word}, 16"));
            let even = self.em.def(format_args!("and i32 {upper}, 1"));
            let bias = self.em.def(format_args!("add i32 {even}, 32767"));
            let rounded = self.em.def(format_args!("add i32 {word}, {bias}"));
            let upper = self.em.def(format_args!("lshr i32 {rounded}, 16"));
            self.em.def(format_args!("trunc i32 {upper} to i16"))
        };
        let nan = self.is_nan(from, name);
        self.em.def(format_args!("select i1 {nan}, i16 {}, i16 {cut}", canonical_nan(to)))
    }

    /// `f64` as `f32`, rounded to odd: towards zero, and then the last bit set where something was lost.
    fn double_to_single_odd(&mut self, name: &str) -> String {
        let near = self.em.def(format_args!("fptrunc double {name} to float"));
        let back = self.em.def(format_args!("fpext float {near} to double"));
        let size = self.em.def(format_args!("call double @llvm.fabs.f64(double {name})"));
        let near_size = self.em.def(format_args!("call double @llvm.fabs.f64(double {back})"));
        let lost = self.em.def(format_args!("fcmp one double {near_size}, {size}"));
        let beyond = self.em.def(format_args!("fcmp ogt double {near_size}, {size}"));
        let word = self.em.def(format_args!("bitcast float {near} to i32"));
        let step = self.em.def(format_args!("sext i1 {beyond} to i32"));
        let down = self.em.def(format_args!("add i32 {word}, {step}"));
        let odd = self.em.def(format_args!("zext i1 {lost} to i32"));
        let word = self.em.def(format_args!("or i32 {down}, {odd}"));
        self.em.def(format_args!("bitcast i32 {word} to float"))
    }

    /// Whether a word is a NaN.
    pub(crate) fn is_nan(&mut self, elem: Elem, name: &str) -> String {
        match elem {
            Elem::F16 | Elem::BF16 => {
                let infinity = if elem == Elem::F16 { 0x7C00 } else { 0x7F80 };
                let size = self.em.def(format_args!("and i16 {name}, 32767"));
                self.em.def(format_args!("icmp ugt i16 {size}, {infinity}"))
            }
            Elem::F64 | Elem::F32 => self.em.def(format_args!("fcmp uno {} {name}, {name}", register(elem))),
            _ => "false".into(),
        }
    }

    /// The bits of a word, of a NaN the canonical one's.
    pub(crate) fn bits_of(&mut self, elem: Elem, name: &str) -> String {
        if !elem.is_float() {
            return name.into();
        }
        let nan = self.is_nan(elem, name);
        let ty = format!("i{}", bits(elem));
        let word = match elem {
            Elem::F64 | Elem::F32 => self.em.def(format_args!("bitcast {} {name} to {ty}", register(elem))),
            _ => name.into(),
        };
        self.em.def(format_args!("select i1 {nan}, {ty} {}, {ty} {word}", canonical_nan(elem)))
    }
}
