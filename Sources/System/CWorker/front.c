/* What a process that serves connections is given before anything else. */
#define _GNU_SOURCE
#include "worker.h"

#include <malloc.h>
#include <signal.h>

int sluice_front_begin(void) {
  /* sendfile(2) has no MSG_NOSIGNAL: a client that closes while it is sent a file would end the process. */
  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) return -1;
  /* An arena of a thread asks /proc/sys/vm/overcommit_memory before it shrinks, and glibc looks for the number of processors
   * before it makes another: the sandbox allows neither. */
  return mallopt(M_ARENA_MAX, 1) == 1 ? 0 : -1;
}
