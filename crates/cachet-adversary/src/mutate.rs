//! What breaks things: one change at a time to a program, to a recipe, to a step's definition, to a text on its way.

pub mod faults;
