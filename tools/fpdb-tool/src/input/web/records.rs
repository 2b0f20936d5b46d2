//! The records of one file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::bufread::MultiGzDecoder;
use indicatif::ProgressBar;

use super::archive::Archive;
use super::record::{Capture, Form, Record};
use super::source::Source;
use super::{Format, Options, Reason};
use crate::input;

/// The records of one file, in order. The file is read as they are asked for.
pub(crate) struct Records(Kind);

enum Kind {
    Archive(Box<Archive>),
    /// What an HTML file holds, until it is asked for.
    Html(Option<Record>),
}

impl Records {
    /// Opens a file, or standard input for `-`. Bytes taken from the file are counted on the bar.
    pub(crate) fn open(
        path: &Path,
        format: Format,
        options: Options,
        bar: &ProgressBar,
    ) -> Result<Self> {
        let file: Box<dyn Read + Send> = match input::is_stdin(path) {
            true => Box::new(io::stdin()),
            false => {
                let file = File::open(path);
                Box::new(file.with_context(|| format!("cannot open {}", path.display()))?)
            }
        };
        let file = BufReader::with_capacity(1 << 16, bar.wrap_read(file));
        let records = match format {
            Format::Warc => Self::archive(Box::new(file), options),
            Format::Html => Self::html(path.display().to_string(), file, options),
        };
        records.with_context(|| format!("cannot read {}", input::label(path)))
    }

    /// The records of an archive.
    pub(super) fn archive(reader: Box<dyn BufRead + Send>, options: Options) -> io::Result<Self> {
        let archive = Archive::new(Source::new(reader)?, options.max_record);
        Ok(Self(Kind::Archive(Box::new(archive))))
    }

    /// The one record that an HTML file is, plain or gzipped.
    fn html(id: String, mut file: impl BufRead, options: Options) -> io::Result<Self> {
        let gzip = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let mut block = Vec::new();
        let limit = options.max_record as u64 + 1;
        let read = match gzip {
            true => MultiGzDecoder::new(file).take(limit).read_to_end(&mut block),
            false => file.take(limit).read_to_end(&mut block),
        };
        let record = match read {
            Err(error) => Record::broken(0, error.to_string()),
            Ok(_) if block.len() > options.max_record => Record::skipped(0, Reason::TooLarge),
            Ok(_) => {
                let form = Form::Bare("text/html".to_owned());
                Record::capture(Capture { offset: 0, url: id, form, block })
            }
        };
        Ok(Self(Kind::Html(Some(record))))
    }
}

impl Iterator for Records {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        match &mut self.0 {
            Kind::Archive(archive) => archive.next(),
            Kind::Html(record) => record.take(),
        }
    }
}
