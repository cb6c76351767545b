//! Certificates changed in one place.

use crate::random::Random;
use cachet_check::certificate::{Certificate, Line};

/// One alteration: a number, the number of a fact, or a line.
pub fn alter(certificate: &Certificate, random: &mut Random) -> Certificate {
    let mut altered = certificate.clone();
    let lines = &mut altered.lines;
    let place = random.below(lines.len());
    match random.below(4) {
        0 => drop(lines.remove(place)),
        1 => {
            let other = random.below(lines.len());
            lines.swap(place, other);
        }
        _ => alter_line(&mut lines[place], random),
    }
    altered
}

fn alter_line(line: &mut Line, random: &mut Random) {
    let by: i128 = random.pick(&[1, -1]);
    let neighbour = |id: u32, random: &mut Random| id.wrapping_add_signed(random.pick(&[1, -1]));
    match line {
        Line::Combine { parts, divisor } | Line::Equate { parts, divisor } => match random.below(3) {
            0 => *divisor += by,
            _ if parts.is_empty() => *divisor += by,
            1 => {
                let part = random.below(parts.len());
                parts[part].0 = neighbour(parts[part].0, random);
            }
            _ => {
                let part = random.below(parts.len());
                parts[part].1 += by;
            }
        },
        Line::Squeeze(a, b) => {
            let place = if random.once_in(2) { a } else { b };
            *place = neighbour(*place, random);
        }
        Line::Define { terms, constant } | Line::Cut { terms, constant } => {
            if terms.is_empty() || random.once_in(2) {
                *constant += by;
            } else {
                let place = random.below(terms.len());
                terms[place].1 += by;
            }
        }
        Line::Split(fact) | Line::Absurd(fact) => *fact = neighbour(*fact, random),
    }
}
