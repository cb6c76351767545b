//! Platforms.

use super::{P, Parser};
use crate::ast::{Device, DeviceEntry, Level, Platform, PlatformEntry, PlatformField, Target, Unit};
use crate::kind::SyntaxKind::{self, At, End, Eq, Name};

impl Parser<'_> {
    pub(crate) fn platform_item(&mut self) -> P<Platform> {
        let lo = self.here();
        self.bump();
        let name = self.name("the platform's name")?;
        self.expect_word("where")?;
        let entries = self.full_block("an entry", |p| p.node(SyntaxKind::PlatformEntry, Parser::platform_entry))?;
        Ok(Platform { name, entries, span: self.span_from(lo) })
    }

    fn platform_entry(&mut self) -> P<PlatformEntry> {
        match self.word() {
            Some("target") => self.target().map(PlatformEntry::Target),
            Some("level") => self.level().map(PlatformEntry::Level),
            Some("unit") => self.unit().map(PlatformEntry::Unit),
            Some("device") => self.device().map(PlatformEntry::Device),
            _ => Err(self.unexpected("`target`, `level`, `unit` or `device`")),
        }
    }

    fn target(&mut self) -> P<Target> {
        let lo = self.here();
        self.bump();
        let name = self.name("the target's name")?;
        let mut features = Vec::new();
        while self.eat_word("feature") {
            features.push(self.name("a feature's name")?);
        }
        Ok(Target { name, features, span: self.span_from(lo) })
    }

    fn level(&mut self) -> P<Level> {
        let lo = self.here();
        self.bump();
        let name = self.name("the level's name")?;
        let mut fields = Vec::new();
        while !self.at(End) {
            fields.push(self.platform_field()?);
        }
        Ok(Level { name, fields, span: self.span_from(lo) })
    }

    fn unit(&mut self) -> P<Unit> {
        let lo = self.here();
        self.bump();
        let name = self.name("the unit's name")?;
        self.expect_word("where")?;
        let fields = self.full_block("a field", Parser::platform_field)?;
        Ok(Unit { name, fields, span: self.span_from(lo) })
    }

    fn device(&mut self) -> P<Device> {
        let lo = self.here();
        self.bump();
        let name = self.name("the device's name")?;
        self.expect_word("where")?;
        let entries = self.full_block("an entry", |p| {
            let field = matches!(p.nth(1), Eq | At);
            match p.word() {
                Some("target") if !field => p.target().map(DeviceEntry::Target),
                Some("level") if !field => p.level().map(DeviceEntry::Level),
                Some("unit") if !field => p.unit().map(DeviceEntry::Unit),
                Some("arithmetic") if !field => p.arithmetic(),
                _ => p.platform_field().map(DeviceEntry::Field),
            }
        })?;
        Ok(Device { name, entries, span: self.span_from(lo) })
    }

    fn arithmetic(&mut self) -> P<DeviceEntry> {
        let lo = self.here();
        self.bump();
        let mut words = vec![self.name("the name of an arithmetic")?];
        while self.at(Name) {
            words.push(self.take());
        }
        Ok(DeviceEntry::Arithmetic { words, span: self.span_from(lo) })
    }

    /// `lanes @f32 = 4 source "…"`.
    fn platform_field(&mut self) -> P<PlatformField> {
        let lo = self.here();
        self.node(SyntaxKind::PlatformField, |p| {
            let name = p.name("a field's name")?;
            let targs = p.targs()?;
            p.expect(Eq, "`=` and a number")?;
            let value = p.size()?;
            let source = if p.eat_word("source") { Some(p.string("the source in quotes")?) } else { None };
            Ok(PlatformField { name, targs, value, source, span: p.span_from(lo) })
        })
    }
}
