//! A part of a table to which few queries lead: only the blocks that they need.

use super::{Asked, Found, Lead, Part, Sweep};
use crate::block::{self, Job};
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::Probe;
use crate::table::Lookup;

/// Look-ups that go through the stages together, so that their waits for memory overlap.
const TOGETHER: usize = 32;

/// Finds what these queries are led to within `part`.
pub(super) fn search<F: Fingerprint>(
    sweep: &Sweep<'_, F>,
    leads: &[Lead],
    part: Part<F>,
    found: &mut Vec<Found<F>>,
) -> Result<()> {
    let look_ups = leads.iter().flat_map(|lead| {
        let probe = &sweep.probes[lead.probe];
        sweep.asked[lead.asked.clone()].iter().map(move |&asked| (asked, probe))
    });
    let mut waiting = Vec::with_capacity(TOGETHER);
    for look_up in look_ups {
        waiting.push(look_up);
        if waiting.len() == TOGETHER {
            take(sweep, &waiting, part, found)?;
            waiting.clear();
        }
    }
    take(sweep, &waiting, part, found)
}

/// Takes look-ups through all stages.
fn take<F: Fingerprint>(
    sweep: &Sweep<'_, F>,
    look_ups: &[(Asked<F>, &Probe<F>)],
    part: Part<F>,
    found: &mut Vec<Found<F>>,
) -> Result<()> {
    let table = sweep.table.view();
    let ask = |&(asked, probe): &(Asked<F>, &Probe<F>)| {
        table.start_filter_check(asked.value ^ probe.flips, probe.depth.into())
    };
    let questions: Vec<_> = look_ups.iter().map(ask).collect();
    let mut aimed = Vec::with_capacity(look_ups.len());
    for (&(asked, probe), question) in look_ups.iter().zip(questions) {
        if let Some(question) = question
            && !table.may_contain(question)?
        {
            continue;
        }
        let mut target = table.start_lookup(asked.value ^ probe.flips, probe.depth.into());
        // A shallow probe leads to several parts: here only this one is looked through.
        target.low = target.low.max(part.low());
        target.high = target.high.min(part.high());
        aimed.push((asked, target));
    }
    for (_, target) in &mut aimed {
        table.find_blocks(target)?;
    }
    let mut jobs = aimed.into_iter().flat_map(|(asked, target)| {
        let Lookup { low, high, blocks, .. } = target;
        blocks.map(move |block| {
            let block = table.packed(block)?;
            Ok(Job { block, query: asked.value, low, high, tag: asked })
        })
    });
    cpu::with_native_instructions(
        #[inline(always)]
        || {
            let found = |asked, candidate| sweep.report(asked, candidate, found);
            block::search(sweep.table.code(), || jobs.next().transpose(), sweep.distance, found)
        },
    )
}
