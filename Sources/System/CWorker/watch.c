/* The watch on allocations and system calls. A stage that exceeds its memory budget, or makes a forbidden
 * system call, ends the worker; the cause is left on the status page, for the message. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static sluice_status *page;

static void obituary(uint32_t death, uint64_t detail) {
  if (!page || page->death != SLUICE_DEATH_NONE) return; /* the first is the cause, the next may be effects */
  __atomic_store_n(&page->detail, detail, __ATOMIC_RELAXED);
  __atomic_store_n(&page->death, death, __ATOMIC_RELEASE);
}

/* ---- Allocations ----
 * The executable's definitions of malloc and its relatives replace libc's for every library in the process.
 * Each calls glibc's own under its other name. Once the watch is on, a failed allocation ends the process:
 * a budget overrun must be an outcome with a name, not a null pointer that a library may or may not check.
 *
 * A sanitizer replaces the same functions. A build with one enforces no budgets, and is not a worker for
 * production. */

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void *checked(void *memory, size_t asked) {
  if (!memory && asked > 0 && page) {
    obituary(SLUICE_DEATH_MEMORY, asked);
    sluice_note_frames(NULL);
    _exit(1);
  }
  return memory;
}

__attribute__((visibility("default"))) void *malloc(size_t count) { return checked(__libc_malloc(count), count); }

__attribute__((visibility("default"))) void *calloc(size_t elements, size_t count) {
  size_t asked;
  if (__builtin_mul_overflow(elements, count, &asked)) asked = SIZE_MAX;
  return checked(__libc_calloc(elements, count), asked);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t count) {
  return checked(__libc_realloc(memory, count), count);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t count) {
  return checked(__libc_memalign(alignment, count), count);
}

__attribute__((visibility("default"))) int posix_memalign(void **memory, size_t alignment, size_t count) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  *memory = checked(__libc_memalign(alignment, count), count);
  return *memory || count == 0 ? 0 : ENOMEM;
}

#endif

/* ---- System calls ----
 * Two calls come here instead of to the kernel. glibc 2.33 and later implement fstat(fd) as
 * newfstatat(fd, "", …). If allowed, that could stat any path; it is answered with fstat. Every other
 * forbidden call ends the process. */

static void forbidden(int signal_number, siginfo_t *info, void *context) {
  (void)signal_number;
  ucontext_t *registers = context;
#if defined(__x86_64__)
  greg_t *r = registers->uc_mcontext.gregs;
  if (info->si_syscall == SYS_newfstatat && (r[REG_R10] & AT_EMPTY_PATH) && ((const char *)r[REG_RSI])[0] == 0) {
    long result = syscall(SYS_fstat, (int)r[REG_RDI], (struct stat *)r[REG_RDX]);
    r[REG_RAX] = result < 0 ? -errno : result;
    return;
  }
#elif defined(__aarch64__)
  unsigned long long *r = registers->uc_mcontext.regs;
  if (info->si_syscall == SYS_newfstatat && (r[3] & AT_EMPTY_PATH) && ((const char *)r[1])[0] == 0) {
    long result = syscall(SYS_fstat, (int)r[0], (struct stat *)r[2]);
    r[0] = (unsigned long long)(result < 0 ? -errno : result);
    return;
  }
#endif
  const int is_first = page && page->death == SLUICE_DEATH_NONE;
  obituary(SLUICE_DEATH_SYSCALL, (uint64_t)info->si_syscall);
  if (is_first) sluice_note_frames(context);
  syscall(SYS_exit_group, 159); /* no other call: a forbidden one would come back here */
}

void sluice_watch(sluice_status *status) {
  struct sigaction action = {.sa_sigaction = forbidden, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  sigaction(SIGSYS, &action, NULL);
  sluice_watch_crashes(status);
  page = status;
}

/* ---- Limits ---- */

/* The address space in use. glibc reserves arenas in steps of this size; a reservation is no use of
 * memory. */
static int64_t address_space(void) {
  long pages = 0;
  char text[64] = {0};
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    if (read(fd, text, sizeof text - 1) > 0) pages = strtol(text, NULL, 10);
    close(fd);
  }
  return (int64_t)pages * sysconf(_SC_PAGESIZE) + (64 << 20);
}

void sluice_limit_opening(int64_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  rlim_t wanted = (rlim_t)(address_space() + bytes);
  limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
}

void sluice_limit_memory(int64_t bytes, int64_t most) {
  static int64_t base = -1;
  if (base < 0) base = address_space();
  struct rlimit limit = {.rlim_cur = (rlim_t)(base + bytes), .rlim_max = (rlim_t)(base + most)};
  setrlimit(RLIMIT_AS, &limit);
}

/* ---- Memory in use ---- */

int64_t sluice_heap_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return (int64_t)(info.uordblks + info.hblkhd);
}

int sluice_descriptors_in_use(void) {
  int count = 0;
  for (int fd = 0; fd < 4096; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* ---- The status page ---- */

void sluice_status_begin(sluice_status *status, uint64_t serial, uint32_t stage) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  __atomic_store_n(&status->since, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, __ATOMIC_RELAXED);
  __atomic_store_n(&status->stage, stage, __ATOMIC_RELAXED);
  __atomic_store_n(&status->serial, serial, __ATOMIC_RELEASE);
}

void sluice_status_cancel(sluice_status *status, const uint64_t *serials, size_t count) {
  for (size_t i = 0; i < SLUICE_MOST_CANCELLED; i++)
    __atomic_store_n(&status->cancelled[i], i < count ? serials[i] : 0, __ATOMIC_RELAXED);
}

int sluice_status_cancelled(const sluice_status *status, uint64_t serial) {
  for (size_t i = 0; i < SLUICE_MOST_CANCELLED; i++)
    if (__atomic_load_n(&status->cancelled[i], __ATOMIC_RELAXED) == serial) return 1;
  return 0;
}

sluice_status sluice_status_read(const sluice_status *status) {
  sluice_status copy;
  copy.serial = __atomic_load_n(&status->serial, __ATOMIC_ACQUIRE);
  copy.since = __atomic_load_n(&status->since, __ATOMIC_RELAXED);
  copy.stage = __atomic_load_n(&status->stage, __ATOMIC_RELAXED);
  copy.death = __atomic_load_n(&status->death, __ATOMIC_RELAXED);
  copy.detail = __atomic_load_n(&status->detail, __ATOMIC_RELAXED);
  return copy;
}
