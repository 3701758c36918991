/* A process that does nothing and reports what was done to it.
 *
 * It prints its pid and the address of its writable memory, waits until its standard input ends, and then
 * prints which bytes of that memory have changed and which signals have arrived. Its environment and
 * descriptor 8 hold secrets. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile char buffer[512];

int main(void) {
  sigset_t all, came;
  char byte;
  struct rlimit before, after;
  setpgid(0, 0);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  getrlimit(RLIMIT_NOFILE, &before);
  printf("%d %lu\n", getpid(), (unsigned long)buffer);
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {}
  for (int i = 0; i < (int)sizeof buffer; i++)
    if (buffer[i]) printf("byte %d\n", i);
  sigpending(&came);
  for (int number = 1; number < 65; number++)
    if (sigismember(&came, number) == 1) printf("signal %d\n", number);
  getrlimit(RLIMIT_NOFILE, &after);
  if (after.rlim_cur != before.rlim_cur) printf("limit\n");
  return 0;
}
