/* libFuzzer's library interface (https://llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library"), which
 * has no header of its own. */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const uint8_t *bytes, size_t count));
