//! The report as an HTML page with bars.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fpdb::reports::ClusterReport;
use fpdb::{Cluster, DocId, Fingerprint};

use crate::output::page::{Bar, Bars, Page};
use crate::output::provenance::Provenance;

/// Clusters in the list of the largest.
const LARGEST: usize = 20;

/// Members of a cluster that are named.
const NAMED: usize = 10;

/// Distinct fingerprints up to which the diameter of a cluster is computed. It takes the square of
/// their number.
const DIAMETER_OF: usize = 4096;

/// One of the largest clusters. They are ordered by size, and by their first document.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Large {
    size: usize,
    first: Reverse<DocId>,
    radius: u32,
    diameter: String,
    ids: Vec<DocId>,
}

/// Collects what the page shows of the clusters.
#[derive(Default)]
pub(super) struct Largest {
    clusters: BinaryHeap<Reverse<Large>>,
    /// Documents whose fingerprint an earlier one of their cluster has.
    equal: u64,
}

impl Largest {
    pub(super) fn add<F: Fingerprint>(&mut self, cluster: &Cluster<'_, F>) {
        let distinct = distinct(cluster);
        let (size, first) = (cluster.members.len(), Reverse(cluster.first.id));
        self.equal += (size - distinct.len()) as u64;
        let is_small = |Reverse(least): &Reverse<Large>| (size, first) < (least.size, least.first);
        if self.clusters.len() == LARGEST && self.clusters.peek().is_some_and(is_small) {
            return;
        }
        let ids = cluster.members.iter().map(|entry| entry.id).take(NAMED).collect();
        let (radius, diameter) = (cluster.radius, diameter(distinct));
        self.clusters.push(Reverse(Large { size, first, radius, diameter, ids }));
        if self.clusters.len() > LARGEST {
            self.clusters.pop();
        }
    }
}

/// Returns the different fingerprints of a cluster.
fn distinct<F: Fingerprint>(cluster: &Cluster<'_, F>) -> Vec<F> {
    let mut distinct: Vec<F> = cluster.members.iter().map(|entry| entry.fingerprint).collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// Returns the largest distance between any two of these fingerprints.
fn diameter<F: Fingerprint>(mut distinct: Vec<F>) -> String {
    let is_complete = distinct.len() <= DIAMETER_OF;
    distinct.truncate(DIAMETER_OF);
    let of_one = |(i, a): (usize, &F)| distinct[i..].iter().map(|&b| a.distance(b)).max();
    let diameter = distinct.iter().enumerate().filter_map(of_one).max().unwrap_or(0);
    if is_complete { diameter.to_string() } else { format!("at least {diameter}") }
}

/// What the page shows of the search.
pub(super) struct Facts {
    pub(super) documents: u64,
    pub(super) distance: u32,
    /// What a distance counts.
    pub(super) unit: &'static str,
}

/// Returns the report as one HTML file. `name` returns what a document is called.
pub(super) fn html(
    report: &ClusterReport,
    provenance: &Provenance,
    &Facts { documents, distance, unit }: &Facts,
    largest: Largest,
    name: impl Fn(DocId) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let mut page = Page::new("Near-duplicates", provenance);
    let pairs: u64 = report.pairs.iter().sum();
    page.facts(&[
        ("documents", documents.to_string()),
        ("distance", format!("{distance} {unit}")),
        ("clusters of at least two", report.clusters.to_string()),
        ("duplicates, which are their other members", report.duplicates.to_string()),
        ("clusters with a member farther from the first", report.chains.to_string()),
        ("documents with the same fingerprint as an earlier one", largest.equal.to_string()),
        ("pairs of different fingerprints", pairs.to_string()),
    ]);
    if report.chains > 0 {
        page.paragraph(
            "Chains of pairs connect documents that may have little in common. The radius is the \
             largest distance from the first document, and the diameter that between any two.",
        );
    }
    page.bars(&by_distance(report, unit));
    page.bars(&by_size(report));
    page.heading("The largest clusters");
    let mut lines = Vec::new();
    for Reverse(large) in largest.clusters.into_sorted_vec() {
        let mut names = large.ids.iter().map(|&id| name(id)).collect::<anyhow::Result<Vec<_>>>()?;
        if large.size > NAMED {
            names.push(format!("and {} more", large.size - NAMED));
        }
        lines.push([
            large.size.to_string(),
            large.radius.to_string(),
            large.diameter,
            names.join(", "),
        ]);
    }
    page.table(&["documents", "radius", "diameter", "members"], &lines);
    Ok(page.finish())
}

fn by_distance(report: &ClusterReport, unit: &str) -> Bars {
    // Different fingerprints have no distance of 0.
    let pairs = report.pairs.iter().enumerate().skip(1);
    Bars {
        title: format!("Pairs of different fingerprints by their distance in {unit}:"),
        parts: &["pairs"],
        mark: None,
        bars: pairs.map(|(distance, &pairs)| bar(distance.to_string(), pairs)).collect(),
    }
}

fn by_size(report: &ClusterReport) -> Bars {
    let classes = report.sizes.iter().enumerate().skip(1);
    let label = |class: usize| format!("{} to {}", 1u64 << class, (2u64 << class) - 1);
    Bars {
        title: "Clusters by the number of their documents:".to_owned(),
        parts: &["clusters"],
        mark: None,
        bars: classes.map(|(class, &clusters)| bar(label(class), clusters)).collect(),
    }
}

fn bar(label: String, number: u64) -> Bar {
    Bar { label, parts: vec![number as f64], mark: None }
}
