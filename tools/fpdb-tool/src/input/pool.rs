//! Processes the parts of many inputs in parallel and returns the results in order.
//!
//! Readers take inputs in turn and cut them into parts, one thread per reader. Workers compute a
//! result for each part. The iterator returns the results in the order in which one thread would
//! compute them: input by input and part by part.
//!
//! Memory is bounded. Each input has a queue of [`QUEUED`] parts, in which a part takes a place
//! when it is read and frees it when its result is taken, and no part is read while those of its
//! input take [`ROOM`] bytes or more. And at most as many inputs as there are readers are being
//! read, while as many again are read to their end and wait for their turn.
//!
//! There is no deadlock: inputs are started in order, so the current input has a reader, and
//! workers wait for no other thread.
//!
//! The threads are not joined. A reader that waits for standard input would keep the process from
//! ending. The others end by themselves when the iterator is dropped.

use std::any::Any;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};

/// Parts of an input that are read ahead of the one that the iterator returns next.
const QUEUED: usize = 2;

/// Bytes of an input's parts, from their reading until their results are taken, at which its reader
/// waits.
const ROOM: usize = 32 << 20;

/// Receives the parts of an input from its reader, and about how many bytes each takes. Returns
/// false once no more are wanted.
pub(crate) type Emit<'a, P> = &'a mut dyn FnMut(P, usize) -> bool;

/// A result of any type. All pools share the code for threads and queues, which would be compiled
/// for each type of results again.
type AnyResult = Box<dyn Any + Send>;

/// Computes the result of a part.
type Work = Box<dyn FnOnce() -> AnyResult + Send>;

/// Receives the work of each part, and about how many bytes the part takes. Returns false once no
/// more is wanted.
type EmitWork<'a> = &'a mut dyn FnMut(Work, usize) -> bool;

/// Reads an input.
type ReadInput = Box<dyn FnOnce(EmitWork<'_>) -> Result<()>>;

/// The inputs, in order.
type Inputs = Box<dyn FnMut() -> Option<ReadInput> + Send>;

/// A result that a worker will send.
type Pending = Receiver<Result<AnyResult>>;

/// What a reader sends for its input: pending results, then how reading ended. If a queue closes
/// without an [`End`](Message::End), its reader panicked.
enum Message {
    Part(Pending, Share),
    End(Result<()>),
}

/// How many bytes the parts of an input take.
#[derive(Default)]
struct Room {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// The bytes of a part, which are free again once this is dropped.
struct Share {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    fn take(self: &Arc<Self>, bytes: usize) -> Share {
        *self.lock() += bytes;
        Share { room: Arc::clone(self), bytes }
    }

    fn wait(&self) {
        let taken = self.freed.wait_while(self.lock(), |taken| *taken >= ROOM);
        drop(taken.unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.room.lock() -= self.bytes;
        self.room.freed.notify_one();
    }
}

type Input = Receiver<Message>;

struct Task {
    work: Work,
    reply: SyncSender<Result<AnyResult>>,
}

/// The results, in order. An error takes the place of its part, or of the rest of its input. The
/// next input follows it.
pub(crate) struct Ordered<R> {
    results: Results,
    of: PhantomData<fn() -> R>,
}

/// Starts to read `inputs` on up to `readers` threads and to process their parts on `workers`
/// threads. Each is at least one.
pub(crate) fn start<I, P, R>(
    mut inputs: impl Iterator<Item = I> + Send + 'static,
    readers: usize,
    workers: usize,
    read: impl Fn(I, Emit<'_, P>) -> Result<()> + Send + Sync + 'static,
    work: impl Fn(P) -> R + Send + Sync + 'static,
) -> Result<Ordered<R>>
where
    I: 'static,
    P: Send + 'static,
    R: Send + 'static,
{
    let (read, work) = (Arc::new(read), Arc::new(work));
    let inputs = move || {
        let (input, read, work) = (inputs.next()?, Arc::clone(&read), Arc::clone(&work));
        let read_input = move |emit: EmitWork<'_>| {
            let mut emit = |part, bytes| {
                let work = Arc::clone(&work);
                emit(Box::new(move || Box::new(work(part))), bytes)
            };
            read(input, &mut emit)
        };
        Some(Box::new(read_input) as ReadInput)
    };
    let results = Results::start(Box::new(inputs), readers.max(1), workers.max(1))?;
    Ok(Ordered { results, of: PhantomData })
}

/// The results of any type, in order.
struct Results {
    inputs: Receiver<Input>,
    current: Option<Input>,
}

impl Results {
    fn start(inputs: Inputs, readers: usize, workers: usize) -> Result<Self> {
        let (tasks, queue) = channel::<Task>();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..workers {
            let queue = Arc::clone(&queue);
            spawn("worker", Box::new(move || work_on(&queue)))?;
        }
        let (queues, started) = sync_channel(readers);
        let inputs = Arc::new(Mutex::new((inputs, queues)));
        for _ in 0..readers {
            let (inputs, tasks) = (Arc::clone(&inputs), tasks.clone());
            spawn(
                "reader",
                Box::new(move || {
                    while let Some((input, messages)) = next_input(&inputs) {
                        read_input(input, &tasks, &messages);
                    }
                }),
            )?;
        }
        Ok(Self { inputs: started, current: None })
    }
}

fn spawn(role: &str, run: Box<dyn FnOnce() + Send>) -> Result<()> {
    let thread = thread::Builder::new().name(format!("fpdb-{role}")).spawn(run);
    thread.map(drop).context("cannot start a thread")
}

/// Takes the next input and registers its queue in one step, so that queues have the order of the
/// inputs.
fn next_input(
    inputs: &Mutex<(Inputs, SyncSender<Input>)>,
) -> Option<(ReadInput, SyncSender<Message>)> {
    let mut inputs = inputs.lock().unwrap_or_else(PoisonError::into_inner);
    let input = inputs.0()?;
    let (messages, queue) = sync_channel(QUEUED);
    inputs.1.send(queue).ok()?;
    Some((input, messages))
}

fn read_input(input: ReadInput, tasks: &Sender<Task>, messages: &SyncSender<Message>) {
    let room = Arc::new(Room::default());
    let mut emit = |work, bytes| {
        let (reply, pending) = sync_channel(1);
        // The place in the queue comes first, because it bounds the number of tasks.
        let is_wanted = messages.send(Message::Part(pending, room.take(bytes))).is_ok()
            && tasks.send(Task { work, reply }).is_ok();
        room.wait();
        is_wanted
    };
    let end = catch_panic(|| input(&mut emit)).and_then(|end| end);
    // This fails if the iterator was dropped.
    let _ = messages.send(Message::End(end));
}

fn work_on(queue: &Mutex<Receiver<Task>>) {
    loop {
        let task = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { work, reply }) = task else { return };
        let _ = reply.send(catch_panic(work));
    }
}

/// Turns a panic into an error. A thread that ended silently would look like the end of its input.
fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(run))
        .map_err(|panic| anyhow!("a bug in the tool stopped a thread: {}", message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

impl Iterator for Results {
    type Item = Result<AnyResult>;

    fn next(&mut self) -> Option<Result<AnyResult>> {
        let gone = || anyhow!("a bug in the tool stopped a thread");
        loop {
            if self.current.is_none() {
                self.current = Some(self.inputs.recv().ok()?);
            }
            match self.current.as_ref()?.recv() {
                // The part takes its room until its result is here.
                Ok(Message::Part(pending, _share)) => {
                    return Some(pending.recv().map_err(|_| gone()).and_then(|result| result));
                }
                Ok(Message::End(end)) => {
                    self.current = None;
                    if let Err(error) = end {
                        return Some(Err(error));
                    }
                }
                Err(_) => {
                    self.current = None;
                    return Some(Err(gone()));
                }
            }
        }
    }
}

impl<R: 'static> Iterator for Ordered<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        let result = self.results.next()?;
        let typed = |result: AnyResult| match result.downcast() {
            Ok(result) => Ok(*result),
            Err(_) => bail!("a bug in the tool mixed up results"),
        };
        Some(result.and_then(typed))
    }
}

impl<R: 'static> FusedIterator for Ordered<R> {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Returns the next of a series of numbers that look random.
    fn random(state: &mut u64) -> u64 {
        *state = fastrand::Rng::with_seed(*state).u64(..);
        *state
    }

    fn emit_all(parts: Vec<u64>, emit: Emit<'_, u64>) -> Result<()> {
        for part in parts {
            if part.is_multiple_of(7) {
                thread::sleep(Duration::from_micros(part % 100));
            }
            if !emit(part, 1) {
                break;
            }
        }
        Ok(())
    }

    #[test]
    fn results_have_the_order_of_inputs_and_parts() {
        for (readers, workers) in [(1, 1), (1, 4), (4, 1), (3, 5), (8, 8)] {
            let mut state = readers as u64 * 100 + workers as u64;
            let inputs: Vec<Vec<u64>> = (0..60)
                .map(|_| (0..random(&mut state) % 40).map(|_| random(&mut state)).collect())
                .collect();
            let expected: Vec<u64> = inputs.concat().iter().map(|part| part / 2).collect();
            let work = |part: u64| {
                if part.is_multiple_of(5) {
                    thread::sleep(Duration::from_micros(part % 300));
                }
                part / 2
            };
            let results = start(inputs.into_iter(), readers, workers, emit_all, work).unwrap();
            let results: Vec<u64> = results.map(Result::unwrap).collect();
            assert_eq!(results, expected, "{readers} readers, {workers} workers");
        }
    }

    #[test]
    fn an_error_follows_the_parts_before_it_and_precedes_the_next_input() {
        let read = |input: u32, emit: Emit<'_, u32>| {
            emit(input, 1);
            if input == 1 { bail!("broken") } else { Ok(()) }
        };
        let results = start([0, 1, 2].into_iter(), 2, 2, read, |part| part).unwrap();
        let results: Vec<_> = results.map(|r| r.map_err(|e| e.to_string())).collect();
        assert_eq!(results, [Ok(0), Ok(1), Err("broken".to_owned()), Ok(2)]);
    }

    #[test]
    fn a_panic_is_an_error_and_not_the_end_of_an_input() {
        let read = |input: u32, emit: Emit<'_, u32>| {
            assert_ne!(input, 2, "no input 2");
            emit(input, 1);
            Ok(())
        };
        let work = |part: u32| {
            assert_ne!(part, 1, "no part 1");
            part
        };
        let results = start([0, 1, 2, 3].into_iter(), 1, 1, read, work).unwrap();
        let results: Vec<_> = results.map(|r| r.map_err(|e| e.to_string())).collect();
        assert_eq!(results.len(), 4);
        assert_eq!((&results[0], &results[3]), (&Ok(0), &Ok(3)));
        for (at, message) in [(1, "no part 1"), (2, "no input 2")] {
            assert!(results[at].as_ref().unwrap_err().contains(message), "{results:?}");
        }
    }

    #[test]
    fn read_ahead_is_bounded() {
        let read_so_far = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&read_so_far);
        let read = move |_: u32, emit: Emit<'_, u32>| {
            while emit(0, 1) {
                counter.fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        };
        let mut results = start(0..1000, 3, 2, read, |part| part).unwrap();
        for taken in 1..50 {
            assert!(results.next().is_some());
            assert!(read_so_far.load(Ordering::SeqCst) <= taken + 3 * (QUEUED + 1));
        }
        thread::sleep(Duration::from_millis(20));
        assert!(read_so_far.load(Ordering::SeqCst) <= 50 + 3 * (QUEUED + 1));
        drop(results);
        // All readers end, so none holds the counter.
        while Arc::strong_count(&read_so_far) > 1 {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn nothing_is_read_while_parts_take_all_room() {
        let begun = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&begun);
        let read = move |_: u32, emit: Emit<'_, ()>| {
            for bytes in [ROOM - 1, 1, ROOM, ROOM * 2, 0, 1] {
                counter.fetch_add(1, Ordering::SeqCst);
                if !emit((), bytes) {
                    break;
                }
            }
            Ok(())
        };
        let mut results = start(0..2, 1, 1, read, |()| ()).unwrap();
        for most in [2, 3, 3, 4, 7, 8] {
            thread::sleep(Duration::from_millis(20));
            assert!(begun.load(Ordering::SeqCst) <= most);
            assert!(results.next().is_some());
        }
        drop(results);
        while Arc::strong_count(&begun) > 1 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}
