//! Axes: the position of a value on the page, and the ticks.

/// How values are mapped to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal differences are equal distances on the page.
    Linear,
    /// Equal ratios are equal distances on the page. All ticks must be above 0; values of 0 and
    /// less are drawn at the first tick.
    Log,
}

/// An axis that extends from its first to its last tick.
#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    /// Values in ascending order, at least two, each with its label, which may be empty.
    pub(crate) ticks: Vec<(f64, String)>,
}

/// The power of ten of the smallest tick.
const SMALLEST: i32 = -12;

/// The largest number of labels that fit side by side.
const MAX_LABELS: usize = 9;

impl Axis {
    /// Returns the position of a value when the first tick is at `from` and the last at `to`.
    /// Values outside the ticks are placed at the nearer end.
    pub(super) fn position(&self, value: f64, from: f64, to: f64) -> f64 {
        let scaled =
            |tick: Option<&(f64, String)>| self.scaled(tick.map_or(0.0, |(value, _)| *value));
        let (first, last) = (scaled(self.ticks.first()), scaled(self.ticks.last()));
        let value = self.scaled(value);
        let share = if last > first { (value - first) / (last - first) } else { 0.5 };
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    fn scaled(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).log10(),
        }
    }

    /// Returns a logarithmic axis that covers the values from `min` to `max`, both above 0. Ticks
    /// are at 1, 2 and 5 times the powers of ten. All of them have labels if there is room,
    /// otherwise the powers of ten only.
    pub(crate) fn log(label: &str, min: f64, max: f64, label_of: impl Fn(f64) -> String) -> Self {
        let values = steps(min, max.max(min));
        let powers = values.iter().filter(|&&(mantissa, _)| mantissa == 1).count();
        let all = values.len() <= MAX_LABELS;
        let labelled_powers = powers.div_ceil(MAX_LABELS).max(1);
        let mut power = 0;
        let ticks = values.into_iter().map(|(mantissa, value)| {
            power += usize::from(mantissa == 1);
            let has_label = all || mantissa == 1 && (power - 1).is_multiple_of(labelled_powers);
            (value, if has_label { label_of(value) } else { String::new() })
        });
        Self { label: label.to_owned(), scale: Scale::Log, ticks: ticks.collect() }
    }

    /// Returns a linear axis that covers the values from `min` to `max`. Its ticks are whole
    /// numbers, 1, 2 or 5 times a power of ten apart.
    pub(crate) fn whole(label: &str, min: f64, max: f64) -> Self {
        let min = min.min(max);
        let span = (max - min).max(1.0);
        let step = steps(1.0, span).into_iter().map(|(_, step)| step);
        let step = step.into_iter().find(|step| span / step <= MAX_LABELS as f64).unwrap_or(span);
        let (first, last) =
            ((min / step).floor(), (max / step).ceil().max(min.div_euclid(step) + 1.0));
        let mut ticks = Vec::new();
        let mut tick = first;
        while tick <= last {
            ticks.push((tick * step, format!("{:.0}", tick * step)));
            tick += 1.0;
        }
        Self { label: label.to_owned(), scale: Scale::Linear, ticks }
    }
}

/// Returns 1, 2 and 5 times the powers of ten, each preceded by that factor: from the last one that
/// is at most `min` to the first one that is at least `max`, at least two of them. None is below
/// 10^[`SMALLEST`].
fn steps(min: f64, max: f64) -> Vec<(u32, f64)> {
    let mut steps = Vec::new();
    let mut exponent = SMALLEST;
    loop {
        for mantissa in [1, 2, 5] {
            let value = power(mantissa, exponent);
            if value <= min {
                steps.clear();
            }
            steps.push((mantissa, value));
            if value >= max && steps.len() > 1 {
                return steps;
            }
        }
        exponent += 1;
    }
}

/// Returns the number nearest to `mantissa` times 10^`exponent`. Negative exponents divide, because
/// powers of ten below 1 have no exact value to multiply with.
fn power(mantissa: u32, exponent: i32) -> f64 {
    let ten = 10f64.powi(exponent.abs());
    if exponent < 0 { f64::from(mantissa) / ten } else { f64::from(mantissa) * ten }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(axis: &Axis) -> Vec<f64> {
        axis.ticks.iter().map(|(value, _)| *value).collect()
    }

    #[test]
    fn log_axis_has_ticks_at_one_two_and_five() {
        let axis = Axis::log("n", 15.0, 300.0, |value| value.to_string());
        assert_eq!(values(&axis), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0]);
        assert!(axis.ticks.iter().all(|(value, label)| *label == value.to_string()));
        assert_eq!(values(&Axis::log("n", 1.0, 1.0, |_| String::new())), [1.0, 2.0]);
        assert_eq!(values(&Axis::log("n", 0.3, 0.6, |_| String::new())), [0.2, 0.5, 1.0]);
    }

    #[test]
    fn only_powers_are_labelled_where_space_is_short() {
        let axis = Axis::log("n", 1e4, 1e8, |value| value.to_string());
        let labelled = axis.ticks.iter().filter(|(_, label)| !label.is_empty());
        assert_eq!(labelled.map(|(v, _)| *v).collect::<Vec<_>>(), [1e4, 1e5, 1e6, 1e7, 1e8]);
        let wide = Axis::log("n", 1e-9, 1e15, |value| value.to_string());
        assert!(wide.ticks.iter().filter(|(_, label)| !label.is_empty()).count() <= MAX_LABELS);
    }

    #[test]
    fn equal_ratios_are_equal_distances_on_a_log_axis() {
        let axis = Axis::log("n", 1e4, 1e8, |_| String::new());
        assert!((axis.position(1e6, 0.0, 100.0) - 50.0).abs() < 1e-9);
        assert_eq!(axis.position(1e9, 0.0, 100.0), 100.0);
        for none in [0.0, -1.0] {
            assert_eq!(axis.position(none, 0.0, 100.0), 0.0);
        }
    }

    #[test]
    fn whole_axis_covers_its_values_with_few_ticks() {
        for (min, max) in [(0.0, 1.0), (41.2, 64.0), (44.0, 44.0), (0.0, 190.5), (7.0, 123_456.0)] {
            let axis = Axis::whole("bits", min, max);
            let ticks = values(&axis);
            assert!(ticks[0] <= min && *ticks.last().unwrap() >= max, "{min} {max} {ticks:?}");
            assert!((2..=MAX_LABELS + 2).contains(&ticks.len()), "{min} {max} {ticks:?}");
        }
    }
}
