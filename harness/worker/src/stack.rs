use std::{env, hint::black_box};

/// How many bytes of the stack are filled: more than the frames of a parser that reads a variable before it is written.
const BYTES: usize = 256 << 10;

/// Fills the stack that a backend is about to use, in a worker whose allocator fills memory with a pattern.
///
/// What lies below the stack pointer is what earlier calls left there. A backend that reads a variable before it is written thus answers
/// as its own history has it, alike in every repeat of a case. With the stack filled, two patterns can give two answers.
#[derive(Clone, Copy)]
pub struct StackFilling(Option<u8>);

impl StackFilling {
    /// The byte with which the allocator of this process fills memory that it hands out; none if it leaves memory as it is.
    ///
    /// (`glibc.malloc.perturb`: manual of the GNU C library, 39.2.)
    pub fn of_process() -> Self {
        Self::of(&env::var("GLIBC_TUNABLES").unwrap_or_default())
    }

    fn of(tunables: &str) -> Self {
        let mut values =
            tunables.split(':').filter_map(|tunable| tunable.strip_prefix("glibc.malloc.perturb="));
        let freed = values.next_back().and_then(|value| value.parse::<u8>().ok());
        Self(freed.filter(|&byte| byte != 0).map(|byte| !byte))
    }

    /// Fills the stack below the caller's frame.
    pub fn apply(self) {
        if let Some(byte) = self.0 {
            fill(byte);
        }
    }
}

#[expect(clippy::large_stack_arrays, reason = "the array is the stack to fill")]
#[inline(never)]
fn fill(byte: u8) {
    black_box(&mut [byte; BYTES]);
}

#[cfg(test)]
mod tests {
    use std::{fs::File, hint::black_box, os::unix::fs::FileExt};

    use super::{BYTES, StackFilling};

    /// The stack 16 to 48 KiB below a variable of the caller. Reading takes less stack than that.
    #[inline(never)]
    fn below(variable: &u8) -> Vec<u8> {
        let memory = File::open("/proc/self/mem").unwrap();
        let mut bytes = vec![0; 32 << 10];
        let address = std::ptr::from_ref(variable).addr() - (48 << 10);
        memory.read_exact_at(&mut bytes, address as u64).unwrap();
        bytes
    }

    #[test]
    fn stack_below_the_caller_holds_the_byte() {
        for byte in [0xfe, 0x7b] {
            let variable = black_box(byte);
            StackFilling(Some(byte)).apply();
            assert!(below(&variable).iter().all(|&found| found == byte));
        }
        const { assert!(BYTES > 2 * (48 << 10)) }
    }

    #[test]
    fn byte_is_the_complement_of_the_allocators() {
        let byte = |tunables| StackFilling::of(tunables).0;
        assert_eq!(byte("glibc.malloc.top_pad=1:glibc.malloc.perturb=1"), Some(0xfe));
        assert_eq!(byte("glibc.malloc.perturb=132:glibc.malloc.top_pad=1"), Some(0x7b));
        assert_eq!(byte("glibc.malloc.perturb=0"), None);
        assert_eq!(byte("glibc.malloc.perturb=many"), None);
        assert_eq!(byte(""), None);
    }
}
