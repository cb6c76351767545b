//! What does a platform file say of a machine?

use cachet_core::ir::Elem;

/// A machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Platform {
    /// Its name.
    pub name: String,
    /// What the host's code is made for.
    pub targets: Vec<Target>,
    /// Memory levels, as written: the innermost first.
    pub levels: Vec<Part>,
    /// What computes.
    pub units: Vec<Part>,
    /// Devices besides the host.
    pub devices: Vec<Device>,
}

/// A target of code generation and the features that code may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// `x86_64`
    pub name: String,
    /// `avx2`, ..
    pub features: Vec<String>,
}

/// A device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its targets.
    pub targets: Vec<Target>,
    /// Whether its arithmetic flushes subnormals.
    pub flush_subnormals: bool,
    /// Its own memory levels.
    pub levels: Vec<Part>,
    /// What computes in each of its cores.
    pub units: Vec<Part>,
    /// Its numbers.
    pub fields: Vec<Field>,
}

/// A level or a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its numbers.
    pub fields: Vec<Field>,
}

/// A number and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// What it is: one of [`LEVEL_FIELDS`], [`UNIT_FIELDS`] or [`DEVICE_FIELDS`].
    pub name: String,
    /// The element type that it is about, if it is about one.
    pub elem: Option<Elem>,
    /// The number, at least 0.
    pub value: i64,
    /// Its source.
    pub source: Option<String>,
}

/// The numbers of a memory level, and what each counts.
pub const LEVEL_FIELDS: &[(&str, &str)] = &[
    ("capacity", "bytes"),
    ("line", "bytes of a line"),
    ("ways", "lines of a set"),
    ("shared", "cores that share it"),
    ("block", "bytes that one block may have"),
    ("latency", "cycles until a load has its value"),
    ("bandwidth", "bytes a core reads in 100 cycles"),
    ("store_bandwidth", "bytes a core writes in 100 cycles"),
];

/// The numbers of a unit, and what each counts.
pub const UNIT_FIELDS: &[(&str, &str)] = &[
    ("count", "units"),
    ("clock", "megahertz when busy"),
    ("lanes", "values of a register"),
    ("registers", "registers"),
    ("register_bits", "bits of a register"),
    ("fma_pipes", "multiply-adds started in a cycle"),
    ("fma_latency", "cycles until a multiply-add has its value"),
    ("add_pipes", "additions started in a cycle"),
    ("add_latency", "cycles until an addition has its value"),
    ("max_pipes", "maxima started in a cycle"),
    ("divide_cycles", "cycles between two divisions"),
    ("dot_pipes", "sums of products of narrow values started in a cycle"),
    ("dot_latency", "cycles until a sum of products of narrow values has its value"),
    ("load_slots", "loads started in a cycle"),
    ("broadcast_slots", "loads to all lanes started in a cycle"),
    ("store_slots", "stores started in a cycle"),
    ("store_cycles", "cycles between two stores"),
];

/// The numbers of a device, and what each counts.
pub const DEVICE_FIELDS: &[(&str, &str)] = &[
    ("group", "lanes that run together"),
    ("groups", "groups of one block, at most"),
    ("resident", "groups that one core holds, at most"),
    ("units", "cores or multiprocessors"),
    ("clock", "megahertz when busy"),
];

/// Why a number is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    /// No level, unit or device has this name.
    Part(String),
    /// It has no such number.
    Field {
        /// The level, unit or device.
        of: String,
        /// The numbers that it has.
        known: Vec<String>,
    },
    /// Several have a number of this name, and none was named.
    Several(Vec<String>),
}

impl Platform {
    /// The names of everything that has numbers, without what is inside the devices.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let parts = self.levels.iter().chain(&self.units).map(|p| p.name.as_str());
        parts.chain(self.devices.iter().map(|d| d.name.as_str()))
    }

    /// The device of a name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|d| d.name == name)
    }

    /// Whether something has a name, perhaps inside a device.
    pub fn has_part(&self, name: &str) -> bool {
        self.parts().any(|p| p == name) || self.devices.iter().any(|d| d.part(name).is_some())
    }

    /// Whether the host has a memory level of a name. The outermost needs no entry.
    pub fn has_level(&self, name: &str) -> bool {
        name == "DRAM" || self.levels.iter().any(|l| l.name == name)
    }

    /// `platform.field @of @elem`, where `of` may be a device and a part of it. A number that is about no element type is
    /// about all.
    pub fn number(&self, field: &str, of: &[&str], elem: Option<Elem>) -> Result<i64, Missing> {
        let (of, fields) = self.named(field, of)?;
        let fits = |f: &&Field, wanted: Option<Elem>| f.name == field && f.elem == wanted;
        let exact = fields.iter().find(|f| fits(f, elem));
        match exact.or_else(|| fields.iter().find(|f| fits(f, None))) {
            Some(f) => Ok(f.value),
            None => Err(Missing::Field { of, known: fields.iter().map(Field::written).collect() }),
        }
    }

    /// The numbers that are meant, and of what: a part of the host or a device goes before a part of a device.
    fn named(&self, field: &str, of: &[&str]) -> Result<(String, &[Field]), Missing> {
        let all = self.everything();
        let named: Vec<&(String, &[Field])> = match of {
            [] => all.iter().filter(|(_, fields)| fields.iter().any(|f| f.name == field)).collect(),
            [one] => match all.iter().find(|(name, _)| name == one) {
                Some(outside) => vec![outside],
                None => all.iter().filter(|(name, _)| name.split(NESTED).nth(1) == Some(one)).collect(),
            },
            path => all.iter().filter(|(name, _)| *name == path.join(NESTED)).collect(),
        };
        match (named.as_slice(), of.last()) {
            ([one], _) => Ok((*one).clone()),
            ([], Some(last)) => Err(Missing::Part(last.to_string())),
            ([], None) => Err(Missing::Field { of: self.name.clone(), known: Vec::new() }),
            (several, _) => Err(Missing::Several(several.iter().map(|s| s.0.clone()).collect())),
        }
    }

    /// Everything that has numbers: `L1`, `Vec`, `Gpu`, `Gpu @Threadgroup`.
    fn everything(&self) -> Vec<(String, &[Field])> {
        let one = |p: &'_ Part| p.name.clone();
        let mut all: Vec<(String, &[Field])> =
            self.levels.iter().chain(&self.units).map(|p| (one(p), p.fields.as_slice())).collect();
        for d in &self.devices {
            all.push((d.name.clone(), &d.fields));
            all.extend(d.inside().map(|p| ([d.name.as_str(), &p.name].join(NESTED), p.fields.as_slice())));
        }
        all
    }
}

/// Between a device and a part of it, as a program writes it after `@`.
const NESTED: &str = " @";

impl Device {
    /// Its levels and units.
    pub fn inside(&self) -> impl Iterator<Item = &Part> {
        self.levels.iter().chain(&self.units)
    }

    /// The level or unit of a name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.inside().find(|p| p.name == name)
    }
}

impl Field {
    /// `lanes @f32`
    pub fn written(&self) -> String {
        match self.elem {
            Some(e) => format!("{} @{e}", self.name),
            None => self.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, elem: Option<Elem>, value: i64) -> Field {
        Field { name: name.into(), elem, value, source: None }
    }

    fn machine() -> Platform {
        let vec =
            vec![field("lanes", Some(Elem::F32), 4), field("lanes", Some(Elem::F64), 2), field("fma_pipes", None, 3)];
        let level = |name: &str, n| Part { name: name.into(), fields: vec![field("line", None, n)] };
        Platform {
            name: "M".into(),
            levels: vec![level("L1", 64), level("L2", 128)],
            units: vec![Part { name: "Vec".into(), fields: vec }],
            ..Platform::default()
        }
    }

    #[test]
    fn numbers_are_found_by_what_they_are_of() {
        let m = machine();
        assert_eq!(m.number("lanes", &["Vec"], Some(Elem::F64)), Ok(2));
        assert_eq!(m.number("fma_pipes", &["Vec"], Some(Elem::F64)), Ok(3));
        assert_eq!(m.number("fma_pipes", &[], None), Ok(3));
        assert_eq!(m.number("line", &["L2"], None), Ok(128));
    }

    #[test]
    fn what_is_missing_is_named() {
        let m = machine();
        assert_eq!(m.number("line", &[], None), Err(Missing::Several(vec!["L1".into(), "L2".into()])));
        assert_eq!(m.number("line", &["L3"], None), Err(Missing::Part("L3".into())));
        let known = vec!["lanes @f32".into(), "lanes @f64".into(), "fma_pipes".into()];
        assert_eq!(m.number("lanes", &["Vec"], None), Err(Missing::Field { of: "Vec".into(), known }));
        assert!(m.has_level("DRAM") && m.has_level("L1") && !m.has_level("L3"));
    }

    #[test]
    fn parts_of_devices_are_found_through_them_or_alone() {
        let mut m = machine();
        let level = |name: &str, n| Part { name: name.into(), fields: vec![field("capacity", None, n)] };
        let device = |name: &str, n| Device {
            name: name.into(),
            targets: vec![],
            flush_subnormals: false,
            levels: vec![level("Shared", n), level("L2", 2 * n)],
            units: vec![Part { name: name.to_lowercase(), fields: vec![field("lanes", Some(Elem::F32), 32)] }],
            fields: vec![field("group", None, 32)],
        };
        m.devices = vec![device("A", 100), device("B", 200)];
        assert_eq!(m.number("capacity", &["B", "Shared"], None), Ok(200));
        assert_eq!(m.number("lanes", &["b"], Some(Elem::F32)), Ok(32));
        // A level of the host is meant before one of a device.
        assert_eq!(m.number("line", &["L2"], None), Ok(128));
        assert_eq!(
            m.number("capacity", &["Shared"], None),
            Err(Missing::Several(vec!["A @Shared".into(), "B @Shared".into()]))
        );
        assert_eq!(m.number("capacity", &["A", "L3"], None), Err(Missing::Part("L3".into())));
        assert!(m.has_part("Shared") && m.has_part("A") && !m.has_part("f32"));
        m.devices.pop();
        assert_eq!(m.number("capacity", &["Shared"], None), Ok(100));
    }
}
