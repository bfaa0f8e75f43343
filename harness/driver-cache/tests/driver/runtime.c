/* A library that finds the driver as a CUDA runtime inside it would: through its own import of dlsym. */

#define _GNU_SOURCE
#include <dlfcn.h>

typedef int (*Attribute)(int *, int, int);
typedef int (*Find)(const char *, void **, int, unsigned long long);
typedef int (*Find2)(const char *, void **, int, unsigned long long, unsigned *);

static void *driver;

int open_driver(const char *path) {
  driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return driver != 0;
}

/* what each kind of lookup finds */
void *by_name(const char *name) { return dlsym(driver, name); }

static void *found_by_first(const char *name, int version, unsigned long long flags) {
  Find find = (Find)dlsym(driver, "cuGetProcAddress");
  void *function = 0;
  return find(name, &function, version, flags) == 0 ? function : 0;
}

static void *found_by_second(const char *name, int version, unsigned long long flags) {
  Find2 find = (Find2)dlsym(driver, "cuGetProcAddress_v2");
  void *function = 0;
  unsigned status = 7;
  int code = find(name, &function, version, flags, &status);
  return status == (code != 0) && code == 0 ? function : 0;
}

void *by_first(const char *name, int version) { return found_by_first(name, version, 0); }
void *by_second(const char *name, int version) { return found_by_second(name, version, 0); }

/* with CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
void *by_first_per_thread(const char *name, int version) { return found_by_first(name, version, 2); }
void *by_second_per_thread(const char *name, int version) { return found_by_second(name, version, 2); }

/* requests an attribute through the function that one of the lookups found */
int ask(void *function, int *answer, int attribute, int device) {
  return ((Attribute)function)(answer, attribute, device);
}

int allocate(void *function, unsigned long long *address, unsigned long long bytes) {
  return ((int (*)(unsigned long long *, unsigned long long))function)(address, bytes);
}

int release(void *function, unsigned long long address) { return ((int (*)(unsigned long long))function)(address); }

/* calls any function of the driver that takes up to five words */
int call(void *function, unsigned long long a, unsigned long long b, unsigned long long c, unsigned long long d,
         unsigned long long e) {
  typedef int (*Words)(unsigned long long, unsigned long long, unsigned long long, unsigned long long, unsigned long long);
  return ((Words)function)(a, b, c, d, e);
}

int release_on(void *function, unsigned long long address, void *stream) {
  return ((int (*)(unsigned long long, void *))function)(address, stream);
}

/* what a search that depends on the caller finds: this library's own function comes before that of the process */
int who(void) { return WHO; }
int who_by_default(void) { return ((int (*)(void))dlsym(RTLD_DEFAULT, "who"))(); }
void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* the message after a failed lookup */
const char *failure(const char *name) {
  dlerror();
  dlsym(driver, name);
  return dlerror();
}
