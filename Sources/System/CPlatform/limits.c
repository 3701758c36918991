/* Limits of the process: soft limits are raised to the hard ones. */
#define _GNU_SOURCE
#include "platform.h"

#include <stdint.h>
#include <sys/resource.h>

long sluice_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
  setrlimit(RLIMIT_NOFILE, &limit);
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (long)limit.rlim_cur : 256;
}

static int64_t raised(int resource) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) return INT64_MAX;
  if (limit.rlim_cur != limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
    getrlimit(resource, &limit);
  }
  return limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

int64_t sluice_raise_file_size_limit(void) { return raised(RLIMIT_FSIZE); }
int64_t sluice_raise_address_space_limit(void) { return raised(RLIMIT_AS); }
int64_t sluice_raise_stack_limit(void) { return raised(RLIMIT_STACK); }
