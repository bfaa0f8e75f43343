mod allocation;
mod attribute;
mod event;
pub mod lookup;
mod virtual_memory;
