//! Reads the documents that resting connections send, on the threads that commit them.
//!
//! A thread that waits for its client costs more than the documents: it wakes and sleeps again for
//! each request. So a connection that does nothing but write documents
//! [rests](Loan).

use std::io::ErrorKind;
use std::sync::Arc;

use fpdb::Fingerprint;

use crate::command::Command;
use crate::commands::batch::Batch;
use crate::commands::queue::Submission;
use crate::commands::service::Service;
use crate::commands::writes;
use crate::net::input;
use crate::net::loan::Loan;
use crate::resp::Parser;

/// Where what arrives is read to: as much as a connection has memory for.
pub(crate) type Buffer = [u8; input::OWN];

/// Returns whether a request is one that resting connections send: a document whose fingerprint is
/// given. To make one of a text takes long, and no other connection should wait for that.
pub(crate) fn is_for_rest(words: &[&[u8]]) -> bool {
    Command::find(words[0]).is_some_and(Command::is_batched)
        && !words.get(2).is_some_and(|word| word.eq_ignore_ascii_case(b"text"))
}

/// Reads what a resting connection has sent. Returns the documents; or gives the connection back to
/// its own thread, which answers anything else.
pub(crate) fn receive<F: Fingerprint>(
    service: &Service<F>,
    loan: &Arc<Loan>,
    buffer: &mut Buffer,
) -> Option<Submission<F>> {
    let lent = loan.take()?;
    if service.shared.clients.stopping_since().is_some() {
        lent.give_back(&[]);
        return None;
    }
    let received = match lent.output.receive_at_once(buffer) {
        Ok(length) => &mut buffer[..length],
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            lent.put_back();
            return None;
        }
        // The connection's own thread finds the same error.
        Err(_) => &mut [],
    };
    let Some((batch, length)) = documents(service, received) else {
        lent.give_back(received);
        return None;
    };
    lent.keep(&received[length..]);
    service.shared.metrics.of(batch.kind.command).calls.add(batch.len() as u64);
    Some(Submission { batch, lent })
}

/// Makes a batch of the complete requests in `bytes`. Returns it with their length; `None` if there
/// are none, or others than documents of one kind.
fn documents<F: Fingerprint>(service: &Service<F>, bytes: &mut [u8]) -> Option<(Batch<F>, usize)> {
    let limits = service.shared.limits;
    let (mut parser, mut rest, mut length) = (Parser::default(), bytes, 0);
    let mut requests: Vec<Vec<&[u8]>> = Vec::new();
    // A parser changes requests that are lines, and another thread could not parse them again.
    while rest.first() == Some(&b'*') {
        let Some(request) = parser.parse(rest, limits).ok()? else { break };
        let (bytes, after) = rest.split_at_mut(request.length);
        let bytes: &[u8] = bytes;
        let words: Vec<&[u8]> = request.arguments.into_iter().map(|range| &bytes[range]).collect();
        if words.is_empty() || !is_for_rest(&words) {
            return None;
        }
        requests.push(words);
        (rest, length) = (after, length + request.length);
    }
    let command = Command::find(requests.first()?[0])?;
    let batch = writes::batch(service, command, &requests);
    (batch.len() == requests.len()).then_some((batch, length))
}
