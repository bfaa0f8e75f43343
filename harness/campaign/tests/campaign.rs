//! Campaigns against real worker processes: this binary is its own worker.

fn main() {
    twinfer_worker::become_worker_if_asked();
}
