//! Watches the connections that rest, of which none has a thread that waits for its client.
//!
//! Only on Linux. Elsewhere, no connection rests, and each has a thread that waits.

#[cfg(target_os = "linux")]
pub(crate) use linux::Poll;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Poll;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::sync::Mutex;

    use rustix::buffer::spare_capacity;
    use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
    use rustix::event::{EventfdFlags, Timespec, eventfd};

    use crate::net::clients::{Client, lock};

    /// What a call to [`Poll::wake`] reports. The ids of clients begin at 1.
    const WAKE: u64 = 0;

    /// The most connections that a thread takes at a time.
    const MOST: usize = 256;

    #[derive(Debug)]
    pub(crate) struct Poll<T> {
        epoll: OwnedFd,
        wake: OwnedFd,
        /// The connections that have rested, by the ids of their clients.
        connections: Mutex<HashMap<u64, T>>,
    }

    impl<T: Clone> Poll<T> {
        /// Returns `None` if the system cannot do it, for instance because too many files are open.
        pub(crate) fn new() -> Option<Self> {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            let (epoll, wake) =
                (epoll::create(CreateFlags::CLOEXEC).ok()?, eventfd(0, flags).ok()?);
            epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN).ok()?;
            Some(Self { epoll, wake, connections: Mutex::default() })
        }

        /// Watches a connection until something arrives, once.
        pub(crate) fn watch(&self, client: &Client, connection: &T) -> io::Result<()> {
            let (id, flags) = (client.id, EventFlags::IN | EventFlags::ONESHOT);
            let is_new = lock(&self.connections).insert(id, connection.clone()).is_none();
            let watch = if is_new { epoll::add } else { epoll::modify };
            Ok(watch(&self.epoll, &client.stream, EventData::new_u64(id), flags)?)
        }

        /// Forgets a connection that ends.
        pub(crate) fn forget(&self, client: &Client) {
            if lock(&self.connections).remove(&client.id).is_some() {
                let _ = epoll::delete(&self.epoll, &client.stream);
            }
        }

        /// Waits until something arrives, or for [`wake`](Self::wake). Returns the connections to
        /// which it arrived.
        pub(crate) fn wait(&self) -> Vec<T> {
            self.arrived(None)
        }

        /// Does not wait.
        pub(crate) fn arrived_already(&self) -> Vec<T> {
            self.arrived(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
        }

        fn arrived(&self, timeout: Option<&Timespec>) -> Vec<T> {
            let mut events: Vec<Event> = Vec::with_capacity(MOST);
            // An interrupted call has found nothing.
            let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), timeout);
            let connections = lock(&self.connections);
            let arrived = events.iter().filter_map(|event| match event.data.u64() {
                WAKE => {
                    let _ = rustix::io::read(&self.wake, &mut [0; 8]);
                    None
                }
                id => connections.get(&id).cloned(),
            });
            arrived.collect()
        }

        /// Wakes a thread that waits, or the next one that would.
        pub(crate) fn wake(&self) {
            let _ = rustix::io::write(&self.wake, &[1; 8]);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::convert::Infallible;
    use std::io;
    use std::marker::PhantomData;

    use crate::net::clients::Client;

    #[derive(Debug)]
    pub(crate) struct Poll<T>(Infallible, PhantomData<T>);

    impl<T> Poll<T> {
        pub(crate) fn new() -> Option<Self> {
            None
        }

        pub(crate) fn watch(&self, _: &Client, _: &T) -> io::Result<()> {
            match self.0 {}
        }

        pub(crate) fn forget(&self, _: &Client) {}

        pub(crate) fn wait(&self) -> Vec<T> {
            match self.0 {}
        }

        pub(crate) fn arrived_already(&self) -> Vec<T> {
            match self.0 {}
        }

        pub(crate) fn wake(&self) {}
    }
}
