/* A stand-in for the CUDA driver that counts the calls that reach it. */

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

/* device memory is a number; one context is current */
static unsigned long long next_address = 4096;
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
  --room, ++allocations;
  *address = next_address;
  next_address += bytes;
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
  return value;
}

int cuMemsetD8Async(unsigned long long address, unsigned char value, unsigned long long bytes, void *stream) {
  (void)address, (void)stream;
  cleared += (int)bytes;
  return value;
}

int cuMemAllocAsync(unsigned long long *address, unsigned long long bytes, void *stream) {
  return stream ? 400 : cuMemAlloc_v2(address, bytes);
}

/* the same functions where the default stream is that of the thread */
int cuMemAllocAsync_ptsz(unsigned long long *address, unsigned long long bytes, void *stream) {
  return cuMemAllocAsync(address, bytes, stream);
}

int cuMemFreeAsync_ptsz(unsigned long long address, void *stream) { return cuMemFreeAsync(address, stream); }

int cuMemHostAlloc(void **address, unsigned long long bytes, unsigned flags) {
  static unsigned char pages[1 << 16];
  static unsigned used;
  if (!address || flags > 7 || bytes > sizeof pages - used) return 1;
  ++allocations;
  *address = pages + used;
  used += (unsigned)bytes;
  return 0;
}

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
  *address = wish ? wish : next_address;
  next_address += bytes;
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
  *handle = next_address++;
  return 0;
}

int cuMemRetainAllocationHandle(unsigned long long *handle, void *address) {
  (void)address;
  if (!handle) return 1;
  *handle = next_address;
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

int cuInit(unsigned flags) { return (int)flags; }

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, unsigned *status);

static int equal(const char *a, const char *b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

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
