//! What breaks things: one change at a time to a program, to a recipe, to a step's definition.

pub mod programs;
pub mod recipes;
