//! The options with which a database is created and opened.

use std::path::Path;
use std::time::Duration;

use fpdb::{Durability, Ids, Jaccard, Layout, Options, RecipeName};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::errors::{self, OrRaise};
use crate::base::numbers::{Distance, Number};
use crate::base::width::{Bits, SKETCH_BITS, check_bits};

/// Returns the options that the caller gave, as the library takes them.
pub(crate) fn parse<F: Bits>(given: Option<&Bound<'_, PyDict>>) -> PyResult<Options<F>> {
    let mut options = Options::default();
    if let Some(jaccard) = jaccard(given)? {
        options = options.similar(jaccard);
    }
    if let Some(durability) = durability(given)? {
        options = options.durability(durability);
    }
    for (name, value) in given.into_iter().flatten() {
        let name = name.extract::<String>()?;
        if !value.is_none() {
            options =
                set(options, &name, &value).map_err(|error| with_name(error, &name, &value))?;
        }
    }
    Ok(options)
}

fn set<F: Bits>(options: Options<F>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Options<F>> {
    let bytes = || value.extract::<Number>().map(|Number(bytes)| bytes);
    let count = || value.extract::<Number>().map(Number::count);
    Ok(match name {
        // Decided before.
        "bits" | "similarity" | "recall" | "durability" | "sync_interval" => options,
        "max_distance" => options.max_distance(value.extract::<Distance>()?.0),
        "expected_entries" => options.expected_entries(bytes()?),
        "layout" => options.layout(layout(&value.extract::<String>()?, F::BITS)?),
        "ids" => options.ids(one_of(name, value, &IDS)?),
        "recipe" => options.recipe(&value.extract::<String>()?),
        "custom_recipe" => options.recipe(RecipeName::custom(value.extract::<String>()?)),
        "extraction" => options.extraction(&extraction(value)?),
        "threads" => options.threads(count()?),
        "background" => options.background(value.extract()?),
        "memtable_entries" => options.memtable_entries(count()?),
        "index_memory" => options.index_memory(bytes()?),
        "page_memory" => options.page_memory(bytes()?),
        "bulk_memory" => options.bulk_memory(count()?),
        "trust_file_system" => options.trust_file_system(value.extract()?),
        _ => {
            let message = format!("got an unexpected keyword argument '{name}'");
            return Err(crate::base::arrays::type_error(message));
        }
    })
}

const IDS: [(&str, Ids); 3] = [("user", Ids::User), ("unique", Ids::Unique), ("names", Ids::Names)];
const DURABILITY: [(&str, Durability); 2] =
    [("sync", Durability::Sync), ("buffered", Durability::Buffered)];

/// Returns the choice with this name.
pub(crate) fn one_of<T: Copy>(
    option: &str,
    value: &Bound<'_, PyAny>,
    choices: &[(&str, T)],
) -> PyResult<T> {
    let name = value.extract::<String>()?;
    choices.iter().find(|(choice, _)| *choice == name).map(|&(_, choice)| choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
        errors::invalid(format!("{option} {name:?}: expected {}", names.join(" or ")))
    })
}

/// Returns the layout with this name.
fn layout(name: &str, bits: u32) -> PyResult<Layout> {
    if bits == SKETCH_BITS {
        let message = format!("layout {name:?}: sketches are in no tables; leave layout out");
        return Err(errors::invalid(message));
    }
    Layout::preset(name, bits).or_raise()
}

/// Replaces an alias of an extraction by its full name, which is what a database stores.
fn extraction(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = value.extract::<String>()?;
    Ok(fpdb_web::Extraction::named(&name).or_raise()?.name().to_owned())
}

/// Says which option has the wrong type.
fn with_name(error: PyErr, name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let py = value.py();
    if !error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) {
        return error;
    }
    crate::base::arrays::type_error(format!("{name}: {}", error.value(py)))
}

/// Which width a database is opened with: the one that was given, or else the one that it has.
pub(crate) fn bits(path: &Path, given: Option<&Bound<'_, PyDict>>) -> PyResult<u32> {
    if let Some(given) = given_bits(given)? {
        return Ok(given);
    }
    // Without a description there is no database. Opening one says why.
    match fpdb::Description::read(path) {
        Ok(description) => Ok(description.bits),
        Err(_) => new_bits(given),
    }
}

/// Returns the width of a new database.
pub(crate) fn new_bits(given: Option<&Bound<'_, PyDict>>) -> PyResult<u32> {
    let default = if jaccard(given)?.is_some() { SKETCH_BITS } else { 64 };
    Ok(given_bits(given)?.unwrap_or(default))
}

/// Returns the similarity that the caller gave.
fn jaccard(given: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Jaccard>> {
    let share = |name| get(given, name, |value| value.extract::<f64>());
    match (share("similarity")?, share("recall")?) {
        (Some(similarity), None) => Ok(Some(Jaccard::at_least(similarity))),
        (Some(similarity), Some(recall)) => Ok(Some(Jaccard::at_least(similarity).recall(recall))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(errors::invalid("recall was given without a similarity")),
    }
}

/// Returns the durability that the caller gave, with the interval for it.
fn durability(given: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Durability>> {
    let interval = get(given, "sync_interval", |value| {
        let seconds = value.extract::<f64>()?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| errors::invalid(format!("sync_interval {seconds}: expected seconds")))
    })?;
    let name = "durability";
    let durability = get(given, name, |value| one_of(name, value, &DURABILITY))?;
    Ok(match (durability, interval) {
        (Some(Durability::Buffered), Some(interval)) => Some(Durability::Every(interval)),
        _ => durability,
    })
}

/// Returns an option that is decided together with others.
fn get<'py, T>(
    given: Option<&Bound<'py, PyDict>>,
    name: &str,
    extract: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    let value = given.map(|given| given.get_item(name)).transpose()?.flatten();
    let Some(value) = value.filter(|value| !value.is_none()) else { return Ok(None) };
    extract(&value).map(Some).map_err(|error| with_name(error, name, &value))
}

/// Returns the width that the caller gave.
pub(crate) fn given_bits(given: Option<&Bound<'_, PyDict>>) -> PyResult<Option<u32>> {
    let bits = get(given, "bits", |bits| check_bits(bits.extract::<Distance>()?.0))?;
    match bits {
        Some(bits) if bits != SKETCH_BITS && jaccard(given)?.is_some() => Err(errors::invalid(
            format!("bits {bits}: a search by similarity needs sketches; leave bits out"),
        )),
        bits => Ok(bits),
    }
}

/// Returns the options that count for a handle that only reads.
pub(crate) fn for_reading(
    py: Python<'_>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyDict>> {
    let reading = PyDict::new(py);
    for name in ["threads", "index_memory", "page_memory"] {
        if let Some(value) = given.map(|given| given.get_item(name)).transpose()?.flatten() {
            reading.set_item(name, value)?;
        }
    }
    Ok(reading.unbind())
}

/// Returns the path, made absolute, so that the handle can be opened again elsewhere.
pub(crate) fn absolute(path: &Path) -> PyResult<std::path::PathBuf> {
    std::path::absolute(path).map_err(|error| errors::from_io(path, &error))
}
