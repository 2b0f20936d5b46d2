//! The normal distribution.

/// Returns the probability that a normally distributed value is at most `x` standard deviations
/// above its mean.
pub(super) fn below(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    // The series of Marsaglia (Journal of Statistical Software 11, 2004).
    let (mut sum, mut term, mut n) = (x, x, 1.0);
    while sum + term != sum {
        n += 2.0;
        term *= x * x / n;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn probabilities_are_those_of_the_tables() {
        for (x, p) in [(0.0, 0.5), (1.0, 0.841_345), (1.644_854, 0.95), (3.0, 0.998_650)] {
            assert!((below(x) - p).abs() < 1e-6 && (below(-x) - (1.0 - p)).abs() < 1e-6, "{x}");
        }
        assert!(below(-9.0) == 0.0 && below(9.0) == 1.0 && below(f64::INFINITY) == 1.0);
    }
}
