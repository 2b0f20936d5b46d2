//! Lends the output of a connection to the threads that commit.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::net::clients::{Client, lock};
use crate::net::output::Output;
use crate::net::poll::Poll;

/// Watches the connections that rest.
pub(crate) type Resting = Poll<Arc<Loan>>;

/// Where a connection gets its output back.
///
/// A connection that only writes documents *rests* from one commit to the next: its thread sleeps,
/// and the threads that commit read what the client sends. That ends as soon as it sends anything
/// else.
#[derive(Debug, Default)]
pub(crate) struct Loan {
    state: Mutex<State>,
    returned: Condvar,
    poll: Option<Arc<Resting>>,
}

#[derive(Debug, Default)]
struct State {
    output: Option<Output>,
    is_awaited: bool,
    /// While the connection rests.
    rest: Option<Rest>,
}

/// The state of a connection that rests.
#[derive(Debug)]
struct Rest {
    /// Since when there has been nothing to do.
    since: Instant,
    /// What was received and must be read by the connection's own thread.
    received: Vec<u8>,
    is_over: bool,
}

/// Why a rest ended.
#[derive(Debug)]
pub(crate) enum Rested {
    /// The connection's own thread has something to do. This is what was received and not answered.
    Received(Vec<u8>),
    /// The client has sent nothing for too long.
    Idle,
}

impl Loan {
    pub(crate) fn new(poll: Option<Arc<Resting>>) -> Arc<Self> {
        Arc::new(Self { poll, ..Self::default() })
    }

    /// Lets the connection rest until its own thread has something to do, or the client sends
    /// nothing for this time. Returns `None` if connections do not rest on this system.
    pub(crate) fn rest(self: &Arc<Self>, idle: Option<Duration>) -> Option<(Rested, Output)> {
        self.poll.as_ref()?;
        let mut state = lock(&self.state);
        state.rest = Some(Rest { since: Instant::now(), received: Vec::new(), is_over: false });
        self.watch(&mut state);
        loop {
            let State { output, rest: Some(rest), .. } = &mut *state else { return None };
            let left = idle.map(|idle| idle.saturating_sub(rest.since.elapsed()));
            // While its last documents are being committed, the client is not idle.
            let is_idle = left == Some(Duration::ZERO) && output.is_some();
            if let Some(output) = output.take_if(|_| rest.is_over || is_idle) {
                let received = Rested::Received(mem::take(&mut rest.received));
                let rested = if rest.is_over { received } else { Rested::Idle };
                state.rest = None;
                return Some((rested, output));
            }
            state = self.wait_for(state, left.filter(|left| !left.is_zero()).or(idle));
        }
    }

    /// Waits for a notification, at most for this time.
    fn wait_for<'a>(
        &self,
        state: MutexGuard<'a, State>,
        most: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        match most {
            None => self.returned.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(most) => {
                let waited = self.returned.wait_timeout(state, most);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    /// If the connection rests and has nothing to do, has it watched. If that is impossible, its
    /// rest is over.
    fn watch(self: &Arc<Self>, state: &mut State) {
        let State { output: Some(output), rest: Some(rest), .. } = state else { return };
        rest.since = Instant::now();
        let is_watched = !rest.is_over
            && rest.received.is_empty()
            && !output.is_broken()
            && self.poll.as_ref().is_some_and(|poll| poll.watch(output.client(), self).is_ok());
        if !is_watched {
            rest.is_over = true;
            self.returned.notify_one();
        }
    }

    /// Takes the output of a connection that rests, if it has nothing to do.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Lent> {
        let State { output, rest, .. } = &mut *lock(&self.state);
        rest.as_ref().filter(|rest| !rest.is_over)?;
        Some(Lent { output: output.take()?, loan: self.clone(), is_complete: false })
    }

    /// Has nobody watch the connection any more.
    pub(crate) fn forget(&self, client: &Client) {
        if let Some(poll) = &self.poll {
            poll.forget(client);
        }
    }

    /// Waits until the output is returned.
    pub(crate) fn wait(&self) -> Output {
        let mut state = lock(&self.state);
        loop {
            if let Some(output) = state.output.take() {
                state.is_awaited = false;
                return output;
            }
            state.is_awaited = true;
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// An output that a connection has lent. Dropping it returns it.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) output: Output,
    loan: Arc<Loan>,
    /// Whether all replies were written. Otherwise, the connection ends.
    pub(crate) is_complete: bool,
}

impl Lent {
    /// Lends the output of a connection, which must not use the empty one that it has meanwhile.
    pub(crate) fn new(output: &mut Output, loan: &Arc<Loan>) -> Self {
        Self { output: output.take(), loan: loan.clone(), is_complete: false }
    }

    /// Keeps what was received for the thread of a connection that rests. Without anything, it
    /// rests on.
    pub(crate) fn keep(&self, received: &[u8]) {
        if let Some(rest) = &mut lock(&self.loan.state).rest {
            rest.received.extend_from_slice(received);
        }
    }

    /// Ends the rest of a connection, and keeps what was received for its thread.
    pub(crate) fn give_back(mut self, received: &[u8]) {
        self.keep(received);
        if let Some(rest) = &mut lock(&self.loan.state).rest {
            rest.is_over = true;
        }
        self.is_complete = true;
    }

    /// Returns the output unchanged.
    pub(crate) fn put_back(mut self) {
        self.is_complete = true;
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut output = self.output.take();
        if output.is_broken() || !self.is_complete {
            output.break_off();
        }
        let mut state = lock(&self.loan.state);
        state.output = Some(output);
        self.loan.watch(&mut state);
        // A notification is a system call, even if nobody waits for it.
        if state.is_awaited {
            self.loan.returned.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::metrics::Metrics;
    use crate::net::clients::Clients;
    use crate::net::stream;
    use crate::resp::Protocol;

    #[test]
    fn a_lent_output_is_returned_and_broken_unless_all_replies_were_written() {
        for is_complete in [true, false] {
            let (stream, peer, mut client) = stream::pair();
            let registered = Arc::new(Clients::default()).register(stream, peer, 1).unwrap();
            let metrics = Arc::new(Metrics::new());
            let mut output = Output::new(registered.client.clone(), metrics.clone());
            output.replies.protocol = Protocol::Resp3;
            output.replies.simple("first");
            let loan = Arc::default();
            let mut lent = Lent::new(&mut output, &loan);
            lent.output.replies.simple("second");
            assert!(lent.output.try_send());
            lent.output.replies.simple("third");
            lent.is_complete = is_complete;
            let returning = std::thread::spawn(move || drop(lent));
            output = loan.wait();
            returning.join().unwrap();
            assert_eq!(
                (output.is_broken(), output.replies.protocol),
                (!is_complete, Protocol::Resp3)
            );
            output.send();
            drop((output, registered));
            let mut received = String::new();
            client.read_to_string(&mut received).unwrap();
            let expected = "+first\r\n+second\r\n+third\r\n";
            assert_eq!(received, expected[..if is_complete { expected.len() } else { 17 }]);
            assert_eq!(metrics.bytes_sent.get(), received.len() as u64);
        }
    }
}
