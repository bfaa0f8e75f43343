/* A library whose dlsym replaces that of the C library for libraries that link it first. */

void *dlsym(void *handle, const char *name) {
  (void)handle, (void)name;
  return 0;
}
