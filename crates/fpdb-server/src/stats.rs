//! `FP.STATS`: the figures that `fpdb-tool stats --json` prints, which a test of the tool compares.

use fpdb::Stats;
use serde_json::Value;

use crate::resp::Replies;

/// Writes all figures of a database, by name.
pub(crate) fn write(stats: &Stats, replies: &mut Replies) {
    let mut figures = serde_json::to_value(stats).expect("names are strings");
    figures["schema"] = "fpdb.stats/1".into();
    write_value(&figures, replies);
}

fn write_value(value: &Value, replies: &mut Replies) {
    match value {
        Value::Null => replies.null(),
        Value::Bool(truth) => replies.integer((*truth).into()),
        Value::Number(number) => match number.as_u64() {
            Some(number) => replies.integer(number),
            None => replies.double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => replies.bulk(text.as_bytes()),
        Value::Array(values) => {
            replies.array(values.len());
            values.iter().for_each(|value| write_value(value, replies));
        }
        Value::Object(fields) => {
            replies.map(fields.len());
            for (name, value) in fields {
                replies.bulk(name.as_bytes());
                write_value(value, replies);
            }
        }
    }
}
