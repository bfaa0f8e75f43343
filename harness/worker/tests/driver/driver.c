/* A stand-in for the CUDA driver: it counts the questions that reach it. */

static int questions;
static int clock_rate = 1980000;

int asked(void) { return questions; }

void set_clock_rate(int rate) { clock_rate = rate; }

/* attribute 13 is the clock rate; device 7 is none */
int cuDeviceGetAttribute(int *answer, int attribute, int device) {
  ++questions;
  if (!answer) return 1;
  if (device == 7) return 101;
  *answer = attribute == 13 ? clock_rate : 1000 * device + attribute;
  return 0;
}

/* memory is a number; a context is current, or none */
static unsigned long long next_address = 4096;
static int allocations, releases, asynchronous_releases, waits, cleared;
static void *context = (void *)1;

int memory_calls(int which) {
  int calls[] = {allocations, releases, asynchronous_releases, waits, cleared};
  return calls[which];
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
  ++allocations;
  *address = next_address;
  next_address += bytes;
  return 0;
}

int cuMemFree_v2(unsigned long long address) {
  ++releases;
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

int cuInit(unsigned flags) { return (int)flags; }

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, unsigned *status);

static int equal(const char *a, const char *b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long long flags) {
  if (flags != 0) return 1;
  *function = equal(symbol, "cuDeviceGetAttribute") ? (void *)cuDeviceGetAttribute
              : equal(symbol, "cuInit")             ? (void *)cuInit
              : equal(symbol, "cuMemAlloc")         ? (void *)cuMemAlloc_v2
              : equal(symbol, "cuMemFree")          ? (void *)cuMemFree_v2
              : equal(symbol, "cuMemFreeAsync")     ? (void *)cuMemFreeAsync
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
