/* What a driver of empty functions must say for cuDNN to make plans: that code was loaded, and that it has no tables of
   functions. plans_test.sh adds all others. */
static char loaded;

static int give(void** made) {
  *made = &loaded;
  return 0;
}
int cuLibraryLoadData(void** made) { return give(made); }
int cuLibraryGetKernel(void** made) { return give(made); }
int cuKernelGetFunction(void** made) { return give(made); }
int cuModuleLoadData(void** made) { return give(made); }
int cuModuleLoadDataEx(void** made) { return give(made); }
int cuModuleGetFunction(void** made) { return give(made); }
int cuGetExportTable(void) { return 500; /* CUDA_ERROR_NOT_FOUND */ }
