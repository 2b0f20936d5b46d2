//! The commands. Each has a module with its arguments and what it does with them.

mod backup;
mod clusters;
mod compact;
mod completions;
mod contained;
mod create;
mod dedup;
mod expire;
mod export;
mod extract;
mod fingerprint;
mod get;
mod html;
mod import;
mod inspect;
mod join;
mod lines;
mod merge;
mod pairs;
mod passages;
mod ping;
mod query;
mod ratio;
mod recipes;
mod recommend;
mod remove;
mod repair;
mod reread;
mod serve;
mod spans;
mod stats;
mod verify;

use anyhow::Result;
use clap::Subcommand;

use crate::output::Context;
use crate::output::failure::Exit;

#[derive(Subcommand)]
pub(crate) enum Command {
    Create(create::Args),
    Import(import::Args),
    Dedup(dedup::Args),
    Query(query::Args),
    Pairs(pairs::Args),
    Join(join::Args),
    Clusters(clusters::Args),
    Passages(passages::Args),
    Lines(lines::Args),
    Contained(contained::Args),
    Get(get::Args),
    Extract(extract::Args),
    Export(export::Args),
    Remove(remove::Args),
    Expire(expire::Args),
    Serve(serve::Args),
    Ping(ping::Args),
    Fingerprint(fingerprint::Args),
    Stats(stats::Args),
    Inspect(inspect::Args),
    Ratio(ratio::Args),
    Verify(verify::Args),
    Compact(compact::Args),
    Backup(backup::Args),
    Merge(merge::Args),
    Rebuild(merge::RebuildArgs),
    Repair(repair::Args),
    Recipes(recipes::Args),
    Recommend(recommend::Args),
    Completions(completions::Args),
}

impl Command {
    /// Returns whether the command changes a database, or makes one. Then a reader of its output
    /// that ends early is an error, because the command has not done what it was asked for.
    pub(crate) fn changes_database(&self) -> bool {
        matches!(
            self,
            Self::Create(_)
                | Self::Import(_)
                | Self::Dedup(_)
                | Self::Remove(_)
                | Self::Expire(_)
                | Self::Compact(_)
                | Self::Backup(_)
                | Self::Merge(_)
                | Self::Rebuild(_)
                | Self::Repair(_)
        )
    }

    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        match self {
            Self::Create(args) => args.run(context),
            Self::Import(args) => args.run(context),
            Self::Dedup(args) => args.run(context),
            Self::Query(args) => args.run(context),
            Self::Pairs(args) => args.run(context),
            Self::Join(args) => args.run(context),
            Self::Clusters(args) => args.run(context),
            Self::Passages(args) => args.run(context),
            Self::Lines(args) => args.run(context),
            Self::Contained(args) => args.run(context),
            Self::Get(args) => args.run(context),
            Self::Extract(args) => args.run(context),
            Self::Export(args) => args.run(context),
            Self::Remove(args) => args.run(context),
            Self::Expire(args) => args.run(context),
            Self::Serve(args) => args.run(context),
            Self::Ping(args) => args.run(context),
            Self::Fingerprint(args) => args.run(context),
            Self::Stats(args) => args.run(context),
            Self::Inspect(args) => args.run(context),
            Self::Ratio(args) => args.run(context),
            Self::Verify(args) => args.run(context),
            Self::Compact(args) => args.run(context),
            Self::Backup(args) => args.run(context),
            Self::Merge(args) => args.run(context),
            Self::Rebuild(args) => args.run(context),
            Self::Repair(args) => args.run(context),
            Self::Recipes(args) => args.run(context),
            Self::Recommend(args) => args.run(context),
            Self::Completions(args) => args.run(context),
        }
    }
}
