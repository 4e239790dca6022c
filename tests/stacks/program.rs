// Allocations from Rust, for names of its two manglings.
#[link(name = "cuda")]
extern "C" {
    fn cuInit(flags: u32) -> i32;
    fn cuDevicePrimaryCtxRetain(context: *mut *mut u8, device: i32) -> i32;
    fn cuCtxSetCurrent(context: *mut u8) -> i32;
    fn cuMemAlloc_v2(at: *mut u64, bytes: usize) -> i32;
}

trait Grow {
    fn grow(&self, bytes: usize) -> u64;
}
struct Layer;

impl Grow for Layer {
    #[inline(never)]
    fn grow(&self, bytes: usize) -> u64 {
        let mut at = 0;
        assert_eq!(unsafe { cuMemAlloc_v2(&mut at, bytes) }, 0);
        std::hint::black_box(at)
    }
}

#[inline(never)]
fn fill<T: Grow>(layer: &T, bytes: usize) -> u64 {
    std::hint::black_box(layer.grow(bytes))
}

fn main() {
    let mut context = std::ptr::null_mut();
    unsafe {
        cuInit(0);
        cuDevicePrimaryCtxRetain(&mut context, 0);
        cuCtxSetCurrent(context);
    }
    std::hint::black_box(fill(&Layer, 100));
}
