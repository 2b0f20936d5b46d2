//! Estimates of the Jaccard similarity of two sets from their sketches.

use crate::minima::MINIMA;
use crate::parities::{Difference, Sampling};
use crate::sketch::Sketch;

/// An estimate and its variance.
type Estimate = (f64, f64);

impl Sketch {
    /// Returns the estimated Jaccard similarity of two sets, 0 to 1, and the standard error of the
    /// estimate.
    ///
    /// The estimate from the parities (Mitzenmacher, Pagh and Pham, WWW 2014, section 3) and that
    /// from the minima are weighted by their variances. At a similarity of .8, the error is .008
    /// for sets of 60 to 500 elements, .011 for 2,000, and .013 for larger ones; sets of up to 25
    /// elements are compared exactly. If one set has up to 2,048, 4,096, 8,192, ... elements and
    /// the other has more, only half of the parities can be compared, and the error is .016.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb_sketch::Sketch;
    ///
    /// let [a, b] = [[10, 20, 30], [20, 30, 40]].map(|values| Sketch::new([1; 128], &values));
    /// assert_eq!(a.similarity(&b), (0.5, 0.0)); // 2 of 4
    /// assert_eq!(a.similarity(&a), (1.0, 0.0));
    /// ```
    #[must_use]
    pub fn similarity(&self, other: &Self) -> (f64, f64) {
        let (a, b) = (f64::from(self.features()), f64::from(other.features()));
        if a + b == 0.0 {
            let (similarity, variance) = of_minima(self.distance(other));
            return (similarity, variance.sqrt());
        }
        let most = a.min(b) / a.max(b);
        let of_difference = |difference: f64| (a + b - difference) / (a + b + difference);
        let (similarity, variance) = match self.difference(other) {
            Difference::Exact(number) => (of_difference(f64::from(number)), 0.0),
            Difference::Parities(0, _) => (1.0, 0.0),
            Difference::Unknown => of_minima(self.distance(other)),
            Difference::Parities(differ, sampling) => {
                joined(of_parities(differ, sampling, a + b), of_minima(self.distance(other)))
            }
        };
        (similarity.clamp(0.0, most), variance.sqrt())
    }
}

/// Returns the similarity of two sets with so many elements together, of whose parities `differ`
/// differ.
fn of_parities(differ: u32, sampling: Sampling, features: f64) -> Estimate {
    let (parities, rate) =
        (f64::from(sampling.parities), 0.5f64.powi(sampling.level.cast_signed()));
    // Fewer than half differ, or nothing is known.
    let unlike = (1.0 - 2.0 * f64::from(differ) / parities).max(0.5 / parities);
    let difference = (-unlike.ln() * parities / 2.0 / rate).min(features);
    let similarity = (features - difference) / (features + difference);
    // The relative variance of the difference. It has two parts: sampling, and values that share a
    // parity.
    let x = 4.0 * rate * difference / parities;
    let relative = 4.0 / parities * ((1.0 - rate) / x + (x.exp() - 1.0 - x) / (x * x));
    let slope = (1.0 - similarity * similarity) / 2.0;
    (similarity, slope * slope * relative)
}

/// Returns the similarity of two sets of whose minima so many differ. Minima of different elements
/// agree with a probability of 1/64.
fn of_minima(differ: u32) -> Estimate {
    let minima = MINIMA as f64;
    let similarity = (1.0 - 64.0 / 63.0 * f64::from(differ) / minima).max(0.0);
    (similarity, (1.0 - similarity) * (similarity + 1.0 / 63.0) / minima)
}

/// Weights two estimates by their variances. That of an estimate of 0 or 1 is not known.
fn joined(a: Estimate, b: Estimate) -> Estimate {
    const LEAST: f64 = 1e-9;
    if a.1 < LEAST || b.1 < LEAST {
        return a;
    }
    let (of_a, of_b) = (1.0 / a.1, 1.0 / b.1);
    ((a.0 * of_a + b.0 * of_b) / (of_a + of_b), 1.0 / (of_a + of_b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two random sets of this size and about this similarity, and what it is.
    fn pair(rng: &mut fastrand::Rng, size: usize, percent: usize) -> (Sketch, Sketch, f64) {
        let shared = 2 * size * percent / (100 + percent);
        let values: Vec<u64> = (0..2 * size - shared).map(|_| rng.u64(..)).collect();
        let exact = shared as f64 / values.len() as f64;
        // Minima differ independently, with the probability that their definition gives.
        let minima: [u64; 128] = std::array::from_fn(|_| rng.u64(..));
        let other = minima.map(|it| if rng.f64() < exact { it } else { rng.u64(..) });
        let (a, b) = (&values[..size], &values[size - shared..]);
        (Sketch::new(minima, a), Sketch::new(other, b), exact)
    }

    /// In units of the error that is returned, estimates have a variance of 1.
    #[test]
    fn estimates_are_unbiased_and_their_errors_are_those_returned() {
        let mut rng = fastrand::Rng::with_seed(7);
        for size in [40, 500, 2_000, 3_000, 20_000] {
            for percent in [30, 50, 80, 95] {
                const PAIRS: usize = 200;
                let (mut sum, mut squares) = (0.0, 0.0);
                for _ in 0..PAIRS {
                    let (a, b, exact) = pair(&mut rng, size, percent);
                    let (estimate, error) = a.similarity(&b);
                    assert_eq!(b.similarity(&a), (estimate, error));
                    sum += estimate - exact;
                    squares += (estimate - exact).powi(2) / error.max(1e-9).powi(2);
                }
                let (bias, variance) = (sum / PAIRS as f64, squares / PAIRS as f64);
                assert!(bias.abs() < 0.02, "{size} {percent}: bias {bias}");
                // Small differences are nearly always exact, and rarely wrong by two.
                let is_exact = size < 500 || percent > 90;
                let expected = if is_exact { 0.0..6.0 } else { 0.6..1.7 };
                assert!(expected.contains(&variance), "{size} {percent}: {variance}");
            }
        }
    }

    #[test]
    fn a_set_is_at_most_as_similar_as_the_sizes_allow() {
        let values: Vec<u64> = (0..100).map(|i| i << 40 | i << 9).collect();
        let (a, b) = (Sketch::new([1; 128], &values), Sketch::new([1; 128], &values[..70]));
        assert!(a.similarity(&b).0 <= 0.7);
        let far: Vec<u64> = (0..5_000).map(|i| i << 40 | i << 9).collect();
        let far = Sketch::new([1; 128], &far);
        assert!(far.similarity(&b).0 <= 0.02);
    }
}
