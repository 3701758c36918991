/* A library to preload: a wall clock that can be changed while a process runs. CLOCK_PAGE names a file with
 * one number, the milliseconds by which the clock is ahead of the machine's; writing the number sets the
 * clock of every process that maps it.
 *
 * Workers get an environment of their own, so this library adds itself to that when they are started. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;

/* Must run before the sandbox closes. */
__attribute__((constructor)) static void map_page(void) {
  const char *path = getenv("CLOCK_PAGE");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) ahead = page;
}

static int (*machine)(clockid_t, struct timespec *);

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!machine) machine = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = machine(clock, time);
  if (result == 0 && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)) {
    int64_t nanoseconds = time->tv_nsec + *ahead % 1000 * 1000000;
    time->tv_sec += *ahead / 1000 + (nanoseconds >= 1000000000) - (nanoseconds < 0);
    time->tv_nsec = (nanoseconds + 1000000000) % 1000000000;
  }
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *place) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (place) *place = now.tv_sec;
  return now.tv_sec;
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                char *const words[], char *const environment[]) {
  static char preload[1024], page[1024];
  char *more[64];
  size_t count = 0;
  while (environment[count] && count < 61) {
    more[count] = environment[count];
    count++;
  }
  snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
  snprintf(page, sizeof page, "CLOCK_PAGE=%s", getenv("CLOCK_PAGE"));
  more[count] = preload;
  more[count + 1] = page;
  more[count + 2] = NULL;
  int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
              char *const[]) = dlsym(RTLD_NEXT, "posix_spawn");
  return real(pid, path, actions, attributes, words, more);
}
