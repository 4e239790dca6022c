// Training steps from Rust, on the CUDA driver alone: no crate, the driver opened by name at run time. A line is fitted to points,
// with five of the kernels of trainer_kernels.ptx.
//
// usage: trainer_rs [STEPS]
//
//     rustc -O examples/trainer.rs -o trainer_rs && cgtrace record -- ./trainer_rs
use std::ffi::{c_char, c_int, c_uint, c_void, CString};
use std::ptr::{null, null_mut};

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Pointer = u64;
type Handle = *mut c_void;

/// The functions of the driver, and the library that they are in.
macro_rules! driver {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        struct Driver { $($field: unsafe extern "C" fn($($argument),*) -> c_int),* }
        impl Driver {
            fn open() -> Result<Driver, String> {
                unsafe {
                    let name = CString::new("libcuda.so.1").unwrap();
                    let library = dlopen(name.as_ptr(), 2);
                    if library.is_null() { return Err("libcuda.so.1 cannot be opened".into()); }
                    $(
                        let symbol = CString::new($symbol).unwrap();
                        let $field = dlsym(library, symbol.as_ptr());
                        if $field.is_null() { return Err(format!("the driver has no {}", $symbol)); }
                    )*
                    Ok(Driver { $($field: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>($field)),* })
                }
            }
        }
    };
}

driver! {
    init = "cuInit" (c_uint);
    primary_retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    primary_release = "cuDevicePrimaryCtxRelease_v2" (c_int);
    set_current = "cuCtxSetCurrent" (Handle);
    stream_create = "cuStreamCreate" (*mut Handle, c_uint);
    stream_synchronize = "cuStreamSynchronize" (Handle);
    stream_destroy = "cuStreamDestroy_v2" (Handle);
    module_load = "cuModuleLoadData" (*mut Handle, *const c_void);
    module_unload = "cuModuleUnload" (Handle);
    function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    alloc = "cuMemAlloc_v2" (*mut Pointer, usize);
    free = "cuMemFree_v2" (Pointer);
    to_device = "cuMemcpyHtoD_v2" (Pointer, *const c_void, usize);
    to_host = "cuMemcpyDtoH_v2" (*mut c_void, Pointer, usize);
    launch = "cuLaunchKernel" (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
}

/// Ends the program with the call's name when it fails.
fn check(result: c_int, call: &str) {
    if result != 0 {
        eprintln!("trainer_rs: {call}: CUDA error {result}");
        std::process::exit(1);
    }
}

/// A stream and the kernels of a module.
struct Kernels<'a> {
    driver: &'a Driver,
    module: Handle,
    stream: Handle,
}

impl Kernels<'_> {
    /// One thread for each of count elements.
    fn launch(&self, name: &str, count: u32, parameters: &mut [*mut c_void]) {
        let text = CString::new(name).unwrap();
        let mut function = null_mut();
        unsafe {
            check((self.driver.function)(&mut function, self.module, text.as_ptr()), "cuModuleGetFunction");
            let blocks = count.div_ceil(256);
            check((self.driver.launch)(function, blocks, 1, 1, 256, 1, 1, 0, self.stream, parameters.as_mut_ptr(), null_mut()), name);
        }
    }
}

/// Device memory with these values in it.
fn upload(driver: &Driver, values: &[f32]) -> Pointer {
    let mut pointer = 0;
    unsafe {
        check((driver.alloc)(&mut pointer, size_of_val(values)), "cuMemAlloc");
        check((driver.to_device)(pointer, values.as_ptr().cast(), size_of_val(values)), "cuMemcpyHtoD");
    }
    pointer
}

fn address<T>(value: &mut T) -> *mut c_void {
    (value as *mut T).cast()
}

const ROWS: u32 = 256;
const INPUTS: u32 = 2;

fn train(kernels: &Kernels, steps: u32) -> (f32, f32) {
    let driver = kernels.driver;
    let mut seed = 7u64;
    let mut uniform = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 32) as i32 as f32 / 2147483648.0
    };
    let points: Vec<f32> = (0..ROWS * INPUTS).map(|_| uniform()).collect();
    let targets: Vec<f32> = points.chunks(2).map(|p| 3.0 * p[0] - 2.0 * p[1] + 0.5).collect();
    let (mut points, mut targets) = (upload(driver, &points), upload(driver, &targets));
    let (mut weight, mut bias) = (upload(driver, &[0.0; 2]), upload(driver, &[0.0]));
    let (mut weight_velocity, mut bias_velocity) = (upload(driver, &[0.0; 2]), upload(driver, &[0.0]));
    let (mut rows, mut inputs, mut outputs, mut rate, mut momentum) = (ROWS, INPUTS, 1u32, 0.05f32, 0.9f32);
    let (mut first, mut last) = (0f32, 0f32);
    for step in 0..steps {
        let (mut out, mut grad) = (upload(driver, &[0.0; ROWS as usize]), upload(driver, &[0.0; ROWS as usize]));
        let (mut weight_grad, mut bias_grad, mut loss) = (upload(driver, &[0.0; 2]), upload(driver, &[0.0]), upload(driver, &[0.0]));
        kernels.launch("linear_forward", ROWS, &mut [address(&mut out), address(&mut points), address(&mut weight), address(&mut bias), address(&mut rows), address(&mut inputs), address(&mut outputs)]);
        kernels.launch("mse_loss", 1, &mut [address(&mut loss), address(&mut out), address(&mut targets), address(&mut rows)]);
        kernels.launch("mse_gradient", ROWS, &mut [address(&mut grad), address(&mut out), address(&mut targets), address(&mut rows)]);
        kernels.launch("linear_backward_weight", INPUTS, &mut [address(&mut weight_grad), address(&mut bias_grad), address(&mut grad), address(&mut points), address(&mut rows), address(&mut inputs), address(&mut outputs)]);
        kernels.launch("momentum_step", INPUTS, &mut [address(&mut weight), address(&mut weight_velocity), address(&mut weight_grad), address(&mut rate), address(&mut momentum), address(&mut inputs)]);
        kernels.launch("momentum_step", 1, &mut [address(&mut bias), address(&mut bias_velocity), address(&mut bias_grad), address(&mut rate), address(&mut momentum), address(&mut outputs)]);
        unsafe {
            check((driver.stream_synchronize)(kernels.stream), "cuStreamSynchronize");
            check((driver.to_host)(address(&mut last), loss, size_of::<f32>()), "cuMemcpyDtoH");
            for pointer in [out, grad, weight_grad, bias_grad, loss] {
                check((driver.free)(pointer), "cuMemFree");
            }
        }
        if step == 0 {
            first = last;
        }
    }
    for pointer in [points, targets, weight, bias, weight_velocity, bias_velocity] {
        unsafe { check((driver.free)(pointer), "cuMemFree") };
    }
    (first, last)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let steps = match words.as_slice() {
        [] => Some(100),
        [word] => word.parse().ok().filter(|&steps: &u32| steps > 0),
        _ => None,
    };
    let Some(steps) = steps else {
        eprintln!("usage: trainer_rs [STEPS], above 0");
        std::process::exit(2);
    };
    let driver = Driver::open().unwrap_or_else(|why| {
        eprintln!("trainer_rs: {why}");
        std::process::exit(1);
    });
    let ptx = CString::new(include_str!("trainer_kernels.ptx")).unwrap();
    let (mut context, mut stream, mut module) = (null_mut(), null_mut(), null_mut());
    unsafe {
        check((driver.init)(0), "cuInit");
        check((driver.primary_retain)(&mut context, 0), "cuDevicePrimaryCtxRetain");
        check((driver.set_current)(context), "cuCtxSetCurrent");
        check((driver.stream_create)(&mut stream, 0), "cuStreamCreate");
        check((driver.module_load)(&mut module, ptx.as_ptr().cast()), "cuModuleLoadData");
    }
    let (first, last) = train(&Kernels { driver: &driver, module, stream }, steps);
    println!("loss {first:.5} at first, {last:.5} after {steps} steps");
    unsafe {
        check((driver.module_unload)(module), "cuModuleUnload");
        check((driver.stream_destroy)(stream), "cuStreamDestroy");
        check((driver.set_current)(null::<c_void>() as Handle), "cuCtxSetCurrent");
        check((driver.primary_release)(0), "cuDevicePrimaryCtxRelease");
    }
}
