use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use super::queue::Request;
use super::*;
use crate::base::error::ErrorKind;
use crate::file::storage::Sim;
use crate::{DocId, Ids, Outcome};

/// Wakes a thread, and counts how often.
struct Unpark(Thread, AtomicUsize);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// The smallest runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current(), AtomicUsize::new(0))));
    let (mut context, mut future) = (Context::from_waker(&waker), pin!(future));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn far(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn names() -> Db {
    Db::options().storage(Sim::new()).ids(Ids::Names).create("sim").unwrap()
}

#[test]
fn of_near_documents_from_many_tasks_and_threads_one_is_inserted() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let inserted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for worker in 0..8 {
            let (batcher, inserted) = (batcher.clone(), &inserted);
            scope.spawn(move || {
                for n in 0..500 {
                    let (fingerprint, key) = (far(n) ^ (1 << worker), format!("{worker}/{n}"));
                    let decision = batcher.insert_if_novel(fingerprint, &*key);
                    let outcome =
                        if worker % 2 == 0 { block_on(decision) } else { decision.wait() };
                    inserted
                        .fetch_add(usize::from(!outcome.unwrap().is_duplicate()), Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!((inserted.into_inner(), db.stats().documents), (500, 500));
}

#[test]
fn stamps_and_updates_are_those_of_the_database() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let upsert = |f, stamp| block_on(batcher.upsert_if_novel(f, Stamped::new("a", stamp))).unwrap();
    assert_eq!(upsert(0, 5), Outcome::Inserted(DocId(0)));
    assert_eq!(upsert(0b11, 6), Outcome::Updated { id: DocId(0), from: 0, distance: 2 });
    assert_eq!(upsert(0b11, 7), Outcome::Unchanged(DocId(0)));
    assert_eq!(db.get("a").unwrap().unwrap().stamp, Some(7));
}

/// The first one waits while the others gather in the queue.
#[test]
fn requests_of_all_kinds_are_done_in_their_order() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let insert = |fingerprint, name| Box::pin(batcher.insert_if_novel(fingerprint, name));
    let (mut a, mut copy) = (insert(0, "a"), insert(1, "b"));
    let mut remembered = Box::pin(batcher.insert_if_novel(1, "b").or_update(OnDuplicate::Remember));
    let (mut touched, mut missing) = (batcher.touch("a", 7), batcher.touch("c", 7));
    let (mut name, mut nobody) = (batcher.name(0), batcher.name(9));
    let (mut removed, mut by_id) = (batcher.remove("a"), batcher.remove(DocId(1)));
    let mut last = insert(1, "d");
    let mut context = Context::from_waker(Waker::noop());
    let document = [(far(1), "z")];
    let hold = db.write(&document).before_commit(|_| {
        for decision in [&mut a, &mut copy, &mut remembered] {
            assert!(decision.as_mut().poll(&mut context).is_pending());
        }
        for decision in [&mut touched, &mut missing] {
            assert!(Pin::new(decision).poll(&mut context).is_pending());
        }
        for decision in [&mut name, &mut nobody] {
            assert!(Pin::new(decision).poll(&mut context).is_pending());
        }
        for decision in [&mut removed, &mut by_id] {
            assert!(Pin::new(decision).poll(&mut context).is_pending());
        }
        assert!(last.as_mut().poll(&mut context).is_pending());
        Ok(())
    });
    assert_eq!(hold.run().unwrap(), [Outcome::Inserted(DocId(0))]);
    assert_eq!(block_on(a).unwrap(), Outcome::Inserted(DocId(1)));
    assert!(block_on(copy).unwrap().is_duplicate());
    assert!(block_on(remembered).unwrap().is_duplicate());
    assert_eq!((block_on(touched).unwrap(), block_on(missing).unwrap()), (true, false));
    assert_eq!(block_on(name).unwrap().as_deref(), Some("z"));
    assert_eq!(block_on(nobody).unwrap(), None);
    assert_eq!((block_on(removed).unwrap(), block_on(by_id).unwrap()), (true, false));
    assert_eq!(block_on(last).unwrap(), Outcome::Inserted(DocId(3)));
}

/// A batch is what waits while another one is written, so this makes one of many.
#[test]
fn an_error_concerns_only_the_document_that_causes_it() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let long = "x".repeat(70_000);
    let keys: Vec<String> = (0..300)
        .map(|n| {
            if n % 50 == 7 {
                String::new()
            } else if n == 200 {
                long.clone()
            } else {
                n.to_string()
            }
        })
        .collect();
    let mut decisions: Vec<_> = (0..)
        .zip(&keys)
        .map(|(n, key)| Box::pin(batcher.insert_if_novel(far(n), &**key)))
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    // All are in the queue before any is waited for.
    let polled: Vec<_> =
        decisions.iter_mut().map(|decision| decision.as_mut().poll(&mut context)).collect();
    for ((polled, decision), key) in polled.into_iter().zip(decisions).zip(&keys) {
        let outcome = match polled {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => block_on(decision),
        };
        match outcome {
            Ok(outcome) => assert!(!outcome.is_duplicate() && (1..10).contains(&key.len())),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                assert!(!(1..10).contains(&key.len()), "{error}");
            }
        }
    }
    assert_eq!(db.stats().documents, 300 - 7);
}

/// In halves, each of the 300 requests would be searched for ten times.
#[test]
fn error_that_stops_all_writes_is_given_to_a_whole_batch_at_once() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    db.core().poison.set(crate::Error::invalid("a test"));
    let mut decisions: Vec<_> =
        (0..300).map(|n| Box::pin(batcher.insert_if_novel(far(n), &*n.to_string()))).collect();
    let mut context = Context::from_waker(Waker::noop());
    let polled: Vec<_> =
        decisions.iter_mut().map(|decision| decision.as_mut().poll(&mut context)).collect();
    for (polled, decision) in polled.into_iter().zip(decisions) {
        let outcome = match polled {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => block_on(decision),
        };
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Poisoned, "{error}");
    }
    let queries = db.stats().queries.queries;
    assert!((1..=600).contains(&queries), "{queries}");
}

#[test]
fn tasks_wait_for_room_in_the_queue_and_all_are_decided() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let count = 3 * Batcher::<u64>::CAPACITY as u64;
    let mut decisions: Vec<_> =
        (0..count).map(|n| Box::pin(batcher.insert_if_novel(far(n), &*n.to_string()))).collect();
    let waker = Arc::new(Unpark(thread::current(), AtomicUsize::new(0)));
    let task = Waker::from(waker.clone());
    let mut context = Context::from_waker(&task);
    while !decisions.is_empty() {
        let before = waker.1.load(Ordering::SeqCst);
        decisions.retain_mut(|decision| match decision.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => outcome.unwrap().is_duplicate(),
            Poll::Pending => true,
        });
        assert!(batcher.thread.queue.len() <= Batcher::<u64>::CAPACITY);
        while !decisions.is_empty() && waker.1.load(Ordering::SeqCst) == before {
            thread::park();
        }
    }
    assert_eq!(db.stats().documents, count);
}

#[test]
fn what_is_in_the_queue_is_written_before_the_last_clone_is_gone() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let mut decisions: Vec<_> =
        (0..1000).map(|n| Box::pin(batcher.insert_if_novel(far(n), &*n.to_string()))).collect();
    let mut never_polled = Box::pin(batcher.insert_if_novel(far(5000), "late"));
    let mut context = Context::from_waker(Waker::noop());
    for decision in &mut decisions {
        let _ = decision.as_mut().poll(&mut context);
    }
    // Nobody waits for these.
    drop(decisions.split_off(500));
    drop(batcher);
    assert_eq!(db.stats().documents, 1000);
    let Poll::Ready(Err(error)) = never_polled.as_mut().poll(&mut context) else {
        panic!("accepted")
    };
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(db.stats().documents, 1000);
}

#[test]
fn a_database_that_is_closed_answers_with_errors() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    assert!(batcher.insert_if_novel(1, "a").wait().is_ok());
    db.close().unwrap();
    for n in 0..3 {
        let error = batcher.insert_if_novel(far(n), "b").wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
}

#[test]
fn nobody_waits_for_a_batcher_whose_thread_has_ended() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let (request, answer) = Request::<u64>::new(Action::Remove, "a".into());
    drop(request);
    assert_eq!(answer.wait().unwrap_err().kind(), ErrorKind::Closed);
    batcher.thread.queue.abandon();
    assert_eq!(batcher.insert_if_novel(7, "a").wait().unwrap_err().kind(), ErrorKind::Closed);
}

/// Owns a batcher until it wakes.
struct Owner(std::sync::Mutex<Option<Batcher>>, std::sync::mpsc::Sender<()>);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
        self.1.send(()).unwrap();
    }
}

#[test]
fn a_waker_may_drop_the_last_clone() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let (sender, woken) = std::sync::mpsc::channel();
    let mut decision = batcher.insert_if_novel(7, "a");
    let owner = Arc::new(Owner(std::sync::Mutex::new(Some(batcher)), sender));
    // The thread must not answer before the waker is known.
    let document = [(far(1), "b")];
    let commit = db.write(&document).before_commit(|_| {
        let waker = Waker::from(owner.clone());
        assert!(Pin::new(&mut decision).poll(&mut Context::from_waker(&waker)).is_pending());
        Ok(())
    });
    commit.run().unwrap();
    woken.recv_timeout(std::time::Duration::from_secs(30)).unwrap();
    assert_eq!(decision.wait().unwrap(), Outcome::Inserted(DocId(1)));
}

/// Panics when it wakes.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        std::panic::resume_unwind(Box::new("a waker panics"));
    }
}

#[test]
fn a_waker_that_panics_disturbs_no_other_task() {
    let db = names();
    let batcher = Batcher::new(&db).unwrap();
    let waker = Waker::from(Arc::new(Panics));
    let mut waiting = Vec::new();
    for (name, n) in ["a", "b", "c"].into_iter().zip(0..) {
        let mut decision = batcher.insert_if_novel(far(n), name);
        // The answer may be there already.
        match Pin::new(&mut decision).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(outcome) => assert!(!outcome.unwrap().is_duplicate()),
            Poll::Pending => waiting.push(decision),
        }
    }
    for decision in waiting {
        assert!(!decision.wait().unwrap().is_duplicate());
    }
    assert_eq!(
        block_on(batcher.insert_if_novel(far(9), "d")).unwrap(),
        Outcome::Inserted(DocId(3))
    );
    assert_eq!(db.snapshot().len(), 4);
}

#[test]
fn a_decision_that_is_polled_again_and_again_has_one_waker() {
    let queue = Queue::<u64>::new("path".into());
    let request = |n| Request::new(Action::Remove, Stamped::from(n)).0;
    let mut waiting: Vec<_> = (0..CAPACITY as u64).map(request).collect();
    for request in waiting.drain(..) {
        assert!(queue.add(request, Waker::noop()).unwrap().is_none());
    }
    for decision in 0..3 {
        let mut request = request(decision);
        for _ in 0..100 {
            request = queue.add(request, Waker::noop()).unwrap().unwrap();
        }
        waiting.push(request);
    }
    assert_eq!(queue.waiting_for_room(), 3);
}
