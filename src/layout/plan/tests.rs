use super::*;

#[test]
fn show() {
    for name in Layout::preset_names() {
        let layout = Layout::preset(name, 64).unwrap();
        for log in [20, 23, 26, 30, 33] {
            for k in 0..=12 {
                let start = std::time::Instant::now();
                let plan = layout.plan_for::<u64>(1 << log, k);
                let took = start.elapsed();
                let stairs: Vec<String> = plan
                    .staircases()
                    .map(|(t, s)| {
                        let steps: Vec<String> =
                            s.steps().iter().map(|s| format!("{}:{}", s.depth, s.most)).collect();
                        format!("{t}[{}]", steps.join(" "))
                    })
                    .collect();
                println!(
                    "{name} 2^{log} k={k} {:.2}us probes {} took {:?} {}",
                    plan.estimated_ns() / 1000.0,
                    plan.probes().len(),
                    took,
                    if k < 8 { stairs.join(" ") } else { String::new() }
                );
            }
        }
    }
}
