/* The user that a program runs as, and the namespaces in which its family is alone and counted. */
#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program_sandbox.h"
#include "sandbox.h"

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t written = write(file, text, strlen(text));
  int error = errno;
  close(file);
  errno = error;
  return written == (ssize_t)strlen(text) ? 0 : -1;
}

static int enter(int kinds) {
  char users[64], groups[64];
  snprintf(users, sizeof users, "%u %u 1\n", geteuid(), geteuid());
  snprintf(groups, sizeof groups, "%u %u 1\n", getegid(), getegid());
  if (unshare(CLONE_NEWUSER | kinds) != 0) return -1;
  if (write_text("/proc/self/setgroups", "deny") != 0) return -1;
  if (write_text("/proc/self/uid_map", users) != 0) return -1;
  return write_text("/proc/self/gid_map", groups);
}

int sluice_enter_namespaces(int kinds) {
  /* The files that are written belong to root while this is not set, as it is not after a change of the user. */
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  int failed = enter(kinds);
  int error = errno;
  /* What the worker was told stands in this process's memory. */
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  errno = error;
  return failed;
}

int sluice_become_nobody(void) {
  if (geteuid() != 0) return 0;
  if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0) return -1;
  return setresuid(NOBODY, NOBODY, NOBODY);
}

int sluice_namespaces_problem(void) {
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    if (sluice_become_nobody() != 0 || sluice_enter_namespaces(CLONE_NEWPID) != 0) _exit(errno & 0xFF);
    pid_t first = fork();
    if (first < 0) _exit(errno & 0xFF);
    if (first == 0) _exit(0);
    waitpid(first, NULL, 0);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) < 0) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}
