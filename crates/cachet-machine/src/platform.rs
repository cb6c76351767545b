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
    ("latency", "cycles until a load has its value"),
    ("bandwidth", "bytes a core reads in 100 cycles"),
    ("store_bandwidth", "bytes a core writes in 100 cycles"),
];

/// The numbers of a unit, and what each counts.
pub const UNIT_FIELDS: &[(&str, &str)] = &[
    ("count", "units"),
    ("lanes", "values of a register"),
    ("registers", "registers"),
    ("register_bits", "bits of a register"),
    ("fma_pipes", "multiply-adds started in a cycle"),
    ("fma_latency", "cycles until a multiply-add has its value"),
    ("add_pipes", "additions started in a cycle"),
    ("add_latency", "cycles until an addition has its value"),
    ("load_slots", "loads started in a cycle"),
    ("store_slots", "stores started in a cycle"),
    ("broadcast_slots", "loads to all lanes started in a cycle"),
];

/// The numbers of a device, and what each counts.
pub const DEVICE_FIELDS: &[(&str, &str)] = &[
    ("group", "lanes that run together"),
    ("groups", "groups of one block, at most"),
    ("units", "cores or multiprocessors"),
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
    /// The names of everything that has numbers.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let parts = self.levels.iter().chain(&self.units).map(|p| p.name.as_str());
        parts.chain(self.devices.iter().map(|d| d.name.as_str()))
    }

    /// Whether the host has a memory level of a name. The outermost needs no entry.
    pub fn has_level(&self, name: &str) -> bool {
        name == "DRAM" || self.levels.iter().any(|l| l.name == name)
    }

    /// `platform.field @of @elem`. A number that is about no element type is about all.
    pub fn number(&self, field: &str, of: Option<&str>, elem: Option<Elem>) -> Result<i64, Missing> {
        let Some(of) = of else {
            let having = |name: &&str| self.fields(name).is_some_and(|all| all.iter().any(|f| f.name == field));
            let having: Vec<&str> = self.parts().filter(having).collect();
            return match having.as_slice() {
                [one] => self.number(field, Some(one), elem),
                [] => Err(Missing::Field { of: self.name.clone(), known: Vec::new() }),
                several => Err(Missing::Several(several.iter().map(|s| s.to_string()).collect())),
            };
        };
        let fields = self.fields(of).ok_or_else(|| Missing::Part(of.to_string()))?;
        let fits = |f: &&Field, wanted: Option<Elem>| f.name == field && f.elem == wanted;
        let exact = fields.iter().find(|f| fits(f, elem));
        match exact.or_else(|| fields.iter().find(|f| fits(f, None))) {
            Some(f) => Ok(f.value),
            None => Err(Missing::Field { of: of.to_string(), known: fields.iter().map(Field::written).collect() }),
        }
    }

    fn fields(&self, of: &str) -> Option<&[Field]> {
        let part = self.levels.iter().chain(&self.units).find(|p| p.name == of).map(|p| p.fields.as_slice());
        part.or_else(|| self.devices.iter().find(|d| d.name == of).map(|d| d.fields.as_slice()))
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
        assert_eq!(m.number("lanes", Some("Vec"), Some(Elem::F64)), Ok(2));
        assert_eq!(m.number("fma_pipes", Some("Vec"), Some(Elem::F64)), Ok(3));
        assert_eq!(m.number("fma_pipes", None, None), Ok(3));
        assert_eq!(m.number("line", Some("L2"), None), Ok(128));
    }

    #[test]
    fn what_is_missing_is_named() {
        let m = machine();
        assert_eq!(m.number("line", None, None), Err(Missing::Several(vec!["L1".into(), "L2".into()])));
        assert_eq!(m.number("line", Some("L3"), None), Err(Missing::Part("L3".into())));
        let known = vec!["lanes @f32".into(), "lanes @f64".into(), "fma_pipes".into()];
        assert_eq!(m.number("lanes", Some("Vec"), None), Err(Missing::Field { of: "Vec".into(), known }));
        assert!(m.has_level("DRAM") && m.has_level("L1") && !m.has_level("L3"));
    }
}
