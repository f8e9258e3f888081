//! Work spread over threads whose results come out in the order in which the work went in.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What [`OrderedPool::take`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<R> {
    /// The result of the oldest job that was not taken yet.
    Ready(R),
    /// The oldest job is not finished.
    Pending,
    /// Nothing is left: every result was taken.
    Idle,
    /// The oldest job was lost: it panicked. The others go on.
    Lost,
}

/// Threads that each own a state and work off jobs. At most `capacity` jobs are waiting, worked on or
/// finished but not taken. Dropping the pool stops it after the jobs at hand.
pub struct OrderedPool<J, R> {
    shared: Arc<Shared<J, R>>,
    threads: Vec<JoinHandle<()>>,
    capacity: usize,
}

struct Shared<J, R> {
    queue: Mutex<Queue<J, R>>,
    work: Condvar,
    progress: Condvar,
}

struct Queue<J, R> {
    waiting: VecDeque<(u64, J)>,
    /// Results of the jobs from number `taken` on.
    slots: VecDeque<Slot<R>>,
    taken: u64,
    stop: bool,
}

enum Slot<R> {
    Open,
    Done(R),
    Lost,
}

impl<J, R> Shared<J, R> {
    fn lock(&self) -> MutexGuard<'_, Queue<J, R>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_job(&self) -> Option<(u64, J)> {
        let mut queue = self.lock();
        loop {
            if queue.stop {
                return None;
            }
            if let Some(job) = queue.waiting.pop_front() {
                return Some(job);
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn fill(&self, number: u64, result: Slot<R>) {
        let mut queue = self.lock();
        let index = (number - queue.taken) as usize;
        if let Some(slot) = queue.slots.get_mut(index) {
            *slot = result;
        }
        drop(queue);
        self.progress.notify_all();
    }
}

impl<J: Send + 'static, R: Send + 'static> OrderedPool<J, R> {
    /// Starts `threads` threads (at least one); each makes its own state with `make` and turns jobs into
    /// results with `work`.
    pub fn new<S, M, W>(threads: usize, capacity: usize, make: M, work: W) -> std::io::Result<Self>
    where
        M: Fn() -> S + Send + Sync + 'static,
        W: Fn(&mut S, J) -> R + Send + Sync + 'static,
    {
        let queue = Queue { waiting: VecDeque::new(), slots: VecDeque::new(), taken: 0, stop: false };
        let shared =
            Arc::new(Shared { queue: Mutex::new(queue), work: Condvar::new(), progress: Condvar::new() });
        let tools = Arc::new((make, work));
        let mut pool = Self { shared, threads: Vec::new(), capacity: capacity.max(1) };
        for number in 0..threads.max(1) {
            let (shared, tools) = (Arc::clone(&pool.shared), Arc::clone(&tools));
            let body = move || {
                let mut state = None;
                while let Some((number, job)) = shared.next_job() {
                    let work = || (tools.1)(state.get_or_insert_with(&tools.0), job);
                    let result = catch_unwind(AssertUnwindSafe(work));
                    if result.is_err() {
                        // What a panic leaves of a state is not worked with.
                        state = None;
                    }
                    shared.fill(number, result.map_or(Slot::Lost, Slot::Done));
                }
            };
            pool.threads.push(std::thread::Builder::new().name(format!("zion-{number}")).spawn(body)?);
        }
        Ok(pool)
    }

    /// Queues a job; gives it back when the pool is full.
    pub fn submit(&self, job: J) -> Option<J> {
        let mut queue = self.shared.lock();
        if queue.slots.len() >= self.capacity {
            return Some(job);
        }
        let number = queue.taken + queue.slots.len() as u64;
        queue.slots.push_back(Slot::Open);
        queue.waiting.push_back((number, job));
        drop(queue);
        self.shared.work.notify_one();
        None
    }

    /// Whether a job would be given back.
    pub fn is_full(&self) -> bool {
        self.shared.lock().slots.len() >= self.capacity
    }

    /// Takes the next result, waiting for it at most `patience`.
    pub fn take(&self, patience: Duration) -> Taken<R> {
        let deadline = Instant::now() + patience;
        let mut queue = self.shared.lock();
        loop {
            match queue.slots.front() {
                None => return Taken::Idle,
                Some(Slot::Open) => {}
                Some(Slot::Done(_) | Slot::Lost) => {
                    queue.taken += 1;
                    return match queue.slots.pop_front() {
                        Some(Slot::Done(result)) => Taken::Ready(result),
                        _ => Taken::Lost,
                    };
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Taken::Pending;
            }
            let woken = self.shared.progress.wait_timeout(queue, left);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<J, R> Drop for OrderedPool<J, R> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.stop = true;
        queue.waiting.clear();
        drop(queue);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_the_pool_is_bounded() -> std::io::Result<()> {
        let pool = OrderedPool::new(
            3,
            5,
            || 0u64,
            |_, job: u64| {
                std::thread::sleep(Duration::from_micros(100 * (job % 3)));
                job * 2
            },
        )?;
        let (mut sent, mut got) = (0, vec![]);
        while got.len() < 100 {
            while sent < 100 && pool.submit(sent).is_none() {
                sent += 1;
            }
            assert!(sent - got.len() as u64 <= 5);
            if let Taken::Ready(result) = pool.take(Duration::from_secs(5)) {
                got.push(result);
            }
        }
        assert_eq!(pool.take(Duration::ZERO), Taken::Idle);
        assert_eq!(got, (0..100).map(|job| job * 2).collect::<Vec<_>>());
        Ok(())
    }

    #[test]
    fn a_panic_costs_its_job_only() -> std::io::Result<()> {
        // The state remembers the jobs before, and does not outlive a panic.
        let work = |state: &mut Vec<u32>, job: u32| {
            state.push(job);
            (100 / job, state.clone())
        };
        let pool = OrderedPool::new(1, 9, Vec::new, work)?;
        for job in [5, 0, 4, 0, 0, 2, 1] {
            assert!(pool.submit(job).is_none());
        }
        for expected in [
            Some((20, vec![5])),
            None,
            Some((25, vec![4])),
            None,
            None,
            Some((50, vec![2])),
            Some((100, vec![2, 1])),
        ] {
            let taken = pool.take(Duration::from_secs(5));
            assert_eq!(taken, expected.map_or(Taken::Lost, Taken::Ready));
        }
        Ok(())
    }

    #[test]
    fn a_state_that_cannot_be_made_costs_its_job() -> std::io::Result<()> {
        let tries = std::sync::atomic::AtomicU32::new(0);
        let make = move || 6 / tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let pool = OrderedPool::new(1, 9, make, |state: &mut u32, job: u32| *state + job)?;
        assert!(pool.submit(1).is_none() && pool.submit(2).is_none());
        assert_eq!(pool.take(Duration::from_secs(5)), Taken::Lost);
        assert_eq!(pool.take(Duration::from_secs(5)), Taken::Ready(8));
        Ok(())
    }

    #[test]
    fn a_lost_job_is_told() -> std::io::Result<()> {
        let pool = OrderedPool::new(2, 4, || (), |(), job: u32| 1 / job)?;
        assert!(pool.submit(1).is_none() && pool.submit(0).is_none() && pool.submit(1).is_none());
        assert_eq!(pool.take(Duration::from_secs(5)), Taken::Ready(1));
        assert_eq!(pool.take(Duration::from_secs(5)), Taken::Lost);
        assert_eq!(pool.take(Duration::from_secs(5)), Taken::Ready(1));
        Ok(())
    }
}
