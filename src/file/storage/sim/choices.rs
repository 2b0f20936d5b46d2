//! Which combinations of pending changes are tried: all, or a representative selection.

/// One choice: a digit for each pending change, from 0 (the change is lost) to the radix - 1.
pub(super) type Choice = Vec<u16>;

/// The choices to try, one after the other.
#[derive(Debug)]
pub(super) enum Choices {
    /// All choices, counted like an odometer.
    All {
        radix: Vec<u16>,
        next: Option<Choice>,
    },
    Selected(std::vec::IntoIter<Choice>),
}

impl Choices {
    /// Makes choices for digits of these radices. The first `ordered` changes are applied in order,
    /// so that their prefixes are likely. Returns all choices if there are at most `exhaustive`.
    pub(super) fn new(
        radix: Vec<u16>,
        ordered: usize,
        exhaustive: usize,
        samples: usize,
        seed: u64,
    ) -> Self {
        let count = radix.iter().fold(1usize, |count, &r| count.saturating_mul(r.into()));
        if count <= exhaustive {
            let next = Some(vec![0; radix.len()]);
            return Self::All { radix, next };
        }
        let mut list = Vec::new();
        let all: Choice = radix.iter().map(|r| r - 1).collect();
        let none: Choice = vec![0; radix.len()];
        for kept in 0..=ordered {
            for rest in [&none, &all] {
                list.push([&all[..kept], &none[kept..ordered], &rest[ordered..]].concat());
            }
        }
        for place in 0..radix.len() {
            let (mut but_one, mut only_one) = (all.clone(), none.clone());
            but_one[place] = 0;
            only_one[place] = all[place];
            list.extend([but_one, only_one]);
        }
        let mut random = Random(fastrand::Rng::with_seed(seed));
        list.extend((0..samples).map(|n| random.choice(&radix, [10, 50, 90][n % 3])));
        Self::Selected(list.into_iter())
    }
}

impl Iterator for Choices {
    type Item = Choice;

    fn next(&mut self) -> Option<Choice> {
        match self {
            Self::Selected(list) => list.next(),
            Self::All { radix, next } => {
                let current = next.take()?;
                let mut following = current.clone();
                for (digit, &radix) in following.iter_mut().zip(&*radix) {
                    *digit += 1;
                    if *digit < radix {
                        *next = Some(following);
                        break;
                    }
                    *digit = 0;
                }
                Some(current)
            }
        }
    }
}

struct Random(fastrand::Rng);

impl Random {
    /// Keeps each change entirely with this probability, and otherwise loses it or keeps a part.
    fn choice(&mut self, radix: &[u16], percent: u16) -> Choice {
        let mut digit =
            |r: u16| if self.0.u16(..100) < percent { r - 1 } else { self.0.u16(..r - 1) };
        radix.iter().map(|&r| if r < 2 { 0 } else { digit(r) }).collect()
    }
}
