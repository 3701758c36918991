/* A stage built for a future contract. */
#include <sluice/stage.h>

/* Only the first three fields have the same meaning as here. */
static const struct {
  uint32_t size, abi_major, abi_minor;
  uint64_t unknown[64];
} stage = {.size = sizeof stage, .abi_major = 99, .abi_minor = 7};

const sluice_stage *foreign_abi_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return (const sluice_stage *)&stage;
}
