/* A library to preload: simulates a kernel without a part that the sandbox needs. LACKS names the part:
 * `landlock`, `seccomp`, `openat2`, or `landlock-above-N` for a kernel that knows Landlock's ABI up to N.
 *
 * Workers get an environment of their own, so this library adds itself to that when they are started. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const char *lacks(void) {
  const char *part = getenv("LACKS");
  return part ? part : "";
}

static long missing(void) {
  errno = ENOSYS;
  return -1;
}

long syscall(long number, ...) {
  static long (*real)(long, ...);
  long a[6];
  va_list values;
  va_start(values, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(values, long);
  va_end(values);
  const char *part = lacks();
  if (number >= 444 && number <= 446) {
    int most = 99;
    if (strcmp(part, "landlock") == 0) return missing();
    sscanf(part, "landlock-above-%d", &most);
    if (number == 444 && a[0] != 0 && a[1] > (most >= 6 ? 24 : most >= 4 ? 16 : 8)) {
      errno = E2BIG; /* as a kernel that knows a shorter struct */
      return -1;
    }
    if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long answer = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return number == 444 && a[0] == 0 && answer > most ? most : answer;
  }
  if (number == 437 /* openat2 */ && strcmp(part, "openat2") == 0) return missing();
  if (number == SYS_seccomp && strcmp(part, "seccomp") == 0) return missing();
  if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* `flock-N`: a file system that answers flock(2) with the errno N. */
int flock(int fd, int operation) {
  static int (*real)(int, int);
  int error = 0;
  if (sscanf(lacks(), "flock-%d", &error) == 1) {
    errno = error;
    return -1;
  }
  if (!real) real = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  return real(fd, operation);
}

int prctl(int option, ...) {
  unsigned long a[4];
  va_list values;
  va_start(values, option);
  for (int i = 0; i < 4; i++) a[i] = va_arg(values, unsigned long);
  va_end(values);
  if ((option == PR_SET_SECCOMP || option == PR_GET_SECCOMP) && strcmp(lacks(), "seccomp") == 0) {
    errno = EINVAL;
    return -1;
  }
  int (*real)(int, ...) = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
  return real(option, a[0], a[1], a[2], a[3]);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                char *const words[], char *const environment[]) {
  static char preload[1024], part[100];
  char *more[64];
  size_t count = 0;
  while (environment[count] && count < 61) {
    more[count] = environment[count];
    count++;
  }
  snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
  snprintf(part, sizeof part, "LACKS=%s", lacks());
  more[count] = preload;
  more[count + 1] = part;
  more[count + 2] = NULL;
  int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
              char *const[]) = dlsym(RTLD_NEXT, "posix_spawn");
  return real(pid, path, actions, attributes, words, more);
}
