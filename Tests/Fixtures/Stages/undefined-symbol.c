/* A plugin that needs a function no library has. */
#include <sluice/stage.h>

extern const sluice_stage *a_function_of_no_library(void);

const sluice_stage *undefined_symbol_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return a_function_of_no_library();
}
