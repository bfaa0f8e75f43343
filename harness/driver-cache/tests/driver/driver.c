/* A stand-in for the CUDA driver that counts the calls that reach it. */

#include <string.h>

static int equal(const char *a, const char *b) { return strcmp(a, b) == 0; }

static int questions;
static int clock_rate = 1980000;

int asked(void) { return questions; }

void set_clock_rate(int rate) { clock_rate = rate; }

/* attribute 13 is the clock rate; there is no device 7 */
int cuDeviceGetAttribute(int *answer, int attribute, int device) {
  ++questions;
  if (!answer) return 1;
  if (device == 7) return 101;
  *answer = attribute == 13 ? clock_rate : 1000 * device + attribute;
  return 0;
}

/* device memory lies in an arena, so that its bytes can be read and written; one context is current */
static unsigned char arena[1ull << 30] __attribute__((aligned(512)));
static unsigned long long arena_used;
static unsigned long long next_handle = 4096;
static int allocations, releases, asynchronous_releases, waits, cleared, looks, mappings;
static unsigned long long threshold, room = 1ull << 40;
static void *context = (void *)1;

int memory_calls(int which) {
  int calls[] = {allocations, releases, asynchronous_releases, waits, cleared, looks, mappings};
  return calls[which];
}

unsigned long long pool_threshold(void) { return threshold; }

/* the number of further allocations, to which each release adds one */
void set_room(unsigned long long allocations_left) { room = allocations_left; }

/* addresses are never used twice */
static unsigned long long take(unsigned long long bytes) {
  unsigned char *start = arena + arena_used;
  arena_used += (bytes + 511) / 512 * 512;
  return (unsigned long long)start;
}

static void fill(unsigned long long address, const unsigned char *unit, unsigned long long size, unsigned long long bytes) {
  unsigned char *start = (unsigned char *)address;
  if (start < arena || start >= arena + sizeof arena) return;
  for (unsigned long long at = 0; at < bytes; ++at) start[at] = unit[at % size];
}

int cuCtxGetCurrent(void **current) {
  *current = context;
  return 0;
}

int cuCtxSynchronize(void) {
  ++waits;
  return 0;
}

int cuMemAlloc_v2(unsigned long long *address, unsigned long long bytes) {
  if (!address || !bytes) return 1;
  if (!room) return 2;
  if (bytes > sizeof arena - arena_used) return 2;
  --room, ++allocations;
  *address = take(bytes);
  return 0;
}

int cuMemFree_v2(unsigned long long address) {
  ++releases, ++room;
  return address ? 0 : 1;
}

int cuMemFreeAsync(unsigned long long address, void *stream) {
  ++asynchronous_releases;
  return stream ? 400 : 0;
}

int cuMemsetD8_v2(unsigned long long address, unsigned char value, unsigned long long bytes) {
  cleared += (int)bytes;
  fill(address, &value, 1, bytes);
  return value;
}

int cuMemsetD8Async(unsigned long long address, unsigned char value, unsigned long long bytes, void *stream) {
  (void)stream;
  return cuMemsetD8_v2(address, value, bytes);
}

int cuMemsetD16_v2(unsigned long long address, unsigned short value, unsigned long long count) {
  unsigned char unit[] = {(unsigned char)value, (unsigned char)(value >> 8)};
  fill(address, unit, 2, 2 * count);
  return 0;
}

int cuMemsetD16Async(unsigned long long address, unsigned short value, unsigned long long count, void *stream) {
  return stream ? 400 : cuMemsetD16_v2(address, value, count);
}

int cuMemcpyDtoH_v2(void *to, unsigned long long from, unsigned long long bytes) {
  if (!to || !from) return 1;
  memcpy(to, (void *)from, bytes);
  return 0;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void *from, unsigned long long bytes) {
  if (!to || !from) return 1;
  memcpy((void *)to, from, bytes);
  return 0;
}

/* every block is as large as the driver was asked for, if it was the last one */
int cuMemGetAddressRange_v2(unsigned long long *base, unsigned long long *bytes, unsigned long long address) {
  if (base) *base = address;
  if (bytes) *bytes = (unsigned long long)(arena + arena_used) - address;
  return address ? 0 : 1;
}

int cuMemAllocAsync(unsigned long long *address, unsigned long long bytes, void *stream) {
  return stream ? 400 : cuMemAlloc_v2(address, bytes);
}

/* the same functions where the default stream is that of the thread */
int cuMemAllocAsync_ptsz(unsigned long long *address, unsigned long long bytes, void *stream) {
  return cuMemAllocAsync(address, bytes, stream);
}

int cuMemFreeAsync_ptsz(unsigned long long address, void *stream) { return cuMemFreeAsync(address, stream); }

int cuMemAllocFromPoolAsync(unsigned long long *address, unsigned long long bytes, void *pool, void *stream) {
  return pool ? cuMemAllocAsync(address, bytes, stream) : 1;
}

int cuMemHostAlloc(void **address, unsigned long long bytes, unsigned flags) {
  static unsigned char pages[1 << 18];
  static unsigned used;
  if (!address || flags > 7 || bytes > sizeof pages - used) return 1;
  ++allocations;
  *address = pages + used;
  used += (unsigned)bytes;
  return 0;
}

int cuMemAllocHost_v2(void **address, unsigned long long bytes) { return cuMemHostAlloc(address, bytes, 0); }

int cuMemFreeHost(void *address) {
  ++releases;
  return address ? 0 : 1;
}

int cuMemGetInfo_v2(unsigned long long *left, unsigned long long *total) {
  if (!left || !total) return 1;
  *left = 1000 - (unsigned long long)++looks;
  *total = 1000;
  return 0;
}

/* ranges of virtual memory and handles are numbers too */
int cuMemAddressReserve(unsigned long long *address, unsigned long long bytes, unsigned long long alignment,
                        unsigned long long wish, unsigned long long flags) {
  (void)alignment;
  if (!address || flags) return 1;
  ++mappings;
  *address = wish ? wish : take(bytes);
  return 0;
}

int cuMemAddressFree(unsigned long long address, unsigned long long bytes) {
  (void)address;
  ++mappings;
  return bytes ? 0 : 1;
}

int cuMemCreate(unsigned long long *handle, unsigned long long bytes, const void *properties, unsigned long long flags) {
  if (!handle || !bytes || !properties || flags) return 1;
  if (!room) return 2;
  --room, ++mappings;
  *handle = next_handle++;
  return 0;
}

int cuMemRetainAllocationHandle(unsigned long long *handle, void *address) {
  (void)address;
  if (!handle) return 1;
  *handle = next_handle;
  return 0;
}

int cuMemRelease(unsigned long long handle) {
  ++mappings, ++room;
  return handle ? 0 : 1;
}

int cuMemMap(unsigned long long address, unsigned long long bytes, unsigned long long offset, unsigned long long handle,
             unsigned long long flags) {
  ++mappings;
  return address && bytes && !offset && handle && !flags ? 0 : 1;
}

int cuMemSetAccess(unsigned long long address, unsigned long long bytes, const void *accesses, unsigned long long count) {
  ++mappings;
  return address && bytes && accesses && count ? 0 : 1;
}

int cuMemUnmap(unsigned long long address, unsigned long long bytes) {
  ++mappings;
  return address && bytes ? 0 : 1;
}

/* an event is reached after three queries; the flags of the last one are recorded */
static unsigned event_flags;
static int questions_left, event_waits;

unsigned created_with(void) { return event_flags; }
int waited_by_driver(void) { return event_waits; }

int cuEventCreate(void **event, unsigned flags) {
  if (!event) return 1;
  event_flags = flags;
  questions_left = 3;
  *event = &event_flags;
  return 0;
}

int cuEventQuery(void *event) { return !event ? 400 : questions_left-- > 0 ? 600 : 0; }

int cuEventSynchronize(void *event) {
  ++event_waits;
  return event ? 0 : 400;
}

int cuCtxGetDevice(int *device) { return *device = 0; }

int cuDeviceGetMemPool(void **pool, int device) {
  *pool = &threshold;
  return device;
}

int cuMemPoolGetAttribute(void *pool, int attribute, unsigned long long *value) {
  *value = threshold;
  return pool == &threshold && attribute == 4 ? 0 : 1;
}

int cuMemPoolSetAttribute(void *pool, int attribute, unsigned long long *value) {
  threshold = *value;
  return pool == &threshold && attribute == 4 ? 0 : 1;
}

/* one device, and a module with the two kernels of misuse.ptx, which run at once */
int cuDeviceGetCount(int *count) { return (*count = 1) - 1; }

int cuDeviceGet(int *device, int ordinal) { return *device = ordinal; }

int cuDevicePrimaryCtxRetain(void **primary, int device) {
  *primary = context;
  return device;
}

int cuCtxSetCurrent(void *wanted) { return wanted == context ? 0 : 201; }

int cuModuleLoadData(void **module, const void *image) {
  *module = (void *)image;
  return image ? 0 : 1;
}

static void write_element(void **words) {
  (*(float **)words[0])[*(unsigned long long *)words[1]] = *(float *)words[2];
}

static void copy_element(void **words) {
  **(float **)words[2] = (*(float **)words[0])[*(unsigned long long *)words[1]];
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = equal(name, "write_element") ? (void *)write_element : equal(name, "copy_element") ? (void *)copy_element : 0;
  return module && *function ? 0 : 500;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra) {
  if (grid_x * grid_y * grid_z * block_x * block_y * block_z != 1 || shared || stream || extra) return 1;
  ((void (*)(void **))function)(parameters);
  return 0;
}

int cuInit(unsigned flags) { return (int)flags; }

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, unsigned *status);

int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long long flags) {
  int per_thread = flags == 2;
  if (flags != 0 && !per_thread) return 1;
  *function = per_thread && equal(symbol, "cuMemAllocAsync")  ? (void *)cuMemAllocAsync_ptsz
              : per_thread && equal(symbol, "cuMemFreeAsync") ? (void *)cuMemFreeAsync_ptsz
              : equal(symbol, "cuDeviceGetAttribute") ? (void *)cuDeviceGetAttribute
              : equal(symbol, "cuInit")             ? (void *)cuInit
              : equal(symbol, "cuMemAlloc")         ? (void *)cuMemAlloc_v2
              : equal(symbol, "cuMemFree")          ? (void *)cuMemFree_v2
              : equal(symbol, "cuMemFreeAsync")     ? (void *)cuMemFreeAsync
              : equal(symbol, "cuMemAllocAsync")    ? (void *)cuMemAllocAsync
              : equal(symbol, "cuMemGetInfo")       ? (void *)cuMemGetInfo_v2
              : equal(symbol, "cuEventCreate")      ? (void *)cuEventCreate
              : equal(symbol, "cuMemCreate")        ? (void *)cuMemCreate
              : !equal(symbol, "cuGetProcAddress")  ? 0
              : version < 12000                     ? (void *)cuGetProcAddress
                                                    : (void *)cuGetProcAddress_v2;
  return *function ? 0 : 500;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, unsigned *status) {
  int code = cuGetProcAddress(symbol, function, version, flags);
  *status = code ? 1 : 0;
  return code;
}
