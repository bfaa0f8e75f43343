/* A library that takes the place of dlsym for those that link it before the C library. */

void *dlsym(void *handle, const char *name) {
  (void)handle, (void)name;
  return 0;
}
