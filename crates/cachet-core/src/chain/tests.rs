use super::{Break, Operation, Uses, operations};
