/* The keeper of a worker's program: a process of ours that starts it, and outlives all that the program starts.
 *
 * A program that may start processes runs in a PID namespace, whose first process the keeper is: what the program
 * leaves behind becomes the keeper's child, and all of it ends with the keeper. The user namespace is what lets an
 * ordinary user make one, and what the kernel counts processes in (RLIMIT_NPROC). */
#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program_sandbox.h"
#include "sandbox.h"
#include "worker.h"

enum { RUN = 'r', KEEP = 'k', SWEEP = 's', END = 'e' };

/* What the keeper knows. One for each process. */
struct keeper {
  const sluice_program *program;
  int asked;          /* the socket to the worker */
  int changes;        /* readable when a child has ended */
  pid_t running;      /* the program; 0: none */
  pid_t last;         /* the process that began last when it was looked for the last time */
  uint32_t failed;    /* the step that failed before any program was asked for; 0: none */
  int error;          /* its errno */
};

static void tell(const struct keeper *keeper, uint32_t kind, uint32_t step, int32_t detail) {
  sluice_program_news news = {.kind = kind, .step = step, .detail = detail};
  while (write(keeper->asked, &news, sizeof news) < 0 && errno == EINTR) {}
}

/* ---- The namespaces ---- */

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t written = write(file, text, strlen(text));
  int error = errno;
  close(file);
  errno = error;
  return written == (ssize_t)strlen(text) ? 0 : -1;
}

/* A user namespace in which this user is itself and no other, and a PID namespace for the next child. */
static int enter_namespaces(void) {
  char users[64], groups[64];
  snprintf(users, sizeof users, "%u %u 1\n", geteuid(), geteuid());
  snprintf(groups, sizeof groups, "%u %u 1\n", getegid(), getegid());
  /* The files below belong to root while this is set, as it is after a change of the user. */
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return -1;
  if (write_text("/proc/self/setgroups", "deny") != 0) return -1;
  if (write_text("/proc/self/uid_map", users) != 0) return -1;
  if (write_text("/proc/self/gid_map", groups) != 0) return -1;
  /* What the worker was told stands in this process's memory. */
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int become_nobody(void) {
  if (geteuid() != 0) return 0;
  if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0) return -1;
  return setresuid(NOBODY, NOBODY, NOBODY);
}

/* ---- The family ---- */

/* The number of the process that began last in this PID namespace: the next one's, less one. */
static pid_t newest(void) {
  pid_t child = vfork();
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, NULL, 0);
  return child;
}

/* Signals the process of this number; 0 only asks whether there is one. A thread has a number too, and kill(2) would take it for
 * its process: pidfd_open(2) does not. */
static int signal_one(pid_t pid, int number) {
  int process = (int)syscall(SYS_pidfd_open, pid, 0);
  if (process < 0) return 0;
  int signalled = syscall(SYS_pidfd_send_signal, process, number, NULL, 0) == 0;
  close(process);
  return signalled;
}

/* Signals each process whose number lies between two, in the order in which the kernel gives numbers: once all were given it
 * begins anew. */
static int signal_between(pid_t after, pid_t until, pid_t most, int number) {
  int count = 0;
  for (pid_t pid = after + 1; until < after ? pid <= most : pid < until; pid++) count += signal_one(pid, number);
  if (until < after)
    for (pid_t pid = 2; pid < until; pid++) count += signal_one(pid, number);
  return count;
}

static pid_t most_processes(void) {
  char text[32] = {0};
  int file = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 4194304;
  ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  return count > 0 ? (pid_t)strtol(text, NULL, 10) : 4194304;
}

/* Takes those that have ended, and tells if the program has. */
static void reap(struct keeper *keeper) {
  int status;
  pid_t ended;
  while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
    if (ended != keeper->running) continue;
    keeper->running = 0;
    tell(keeper, SLUICE_PROGRAM_ENDED, 0, status);
  }
}

static void sweep(struct keeper *keeper) {
  reap(keeper);
  pid_t now = newest();
  static pid_t most;
  if (most == 0) most = most_processes();
  int count = now > 0 ? signal_between(keeper->last, now, most, 0) : 0;
  if (count > 0 || now < 0) {
    /* While all stand still, none starts another behind the one that is ended. The kernel signals also those that are being
     * started. The keeper, the namespace's first process, is left out. */
    kill(-1, SIGSTOP);
    now = newest();
    count = signal_between(keeper->last, now < 0 ? most : now, most, SIGKILL);
    kill(-1, SIGCONT);
    reap(keeper);
  }
  keeper->last = now > 0 ? now : keeper->last;
  tell(keeper, SLUICE_PROGRAM_SWEPT, 0, count);
}

static void end_family(struct keeper *keeper) {
  if (keeper->program->processes > 1 && keeper->failed == 0) {
    kill(-1, SIGKILL);
  } else if (keeper->running > 0) {
    kill(keeper->running, SIGKILL);
  }
  while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {}
  keeper->running = 0;
}

/* ---- The program ---- */

static _Noreturn void become(const sluice_program *program, const int descriptors[4], int failures) {
  sigset_t none;
  sigemptyset(&none);
  struct sluice_step step = {0};
  /* Above the numbers that are set next, whatever they are now. */
  int from[5];
  for (int i = 0; i < 4; i++) from[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 16);
  from[4] = fcntl(failures, F_DUPFD_CLOEXEC, 16);
  const int to[5] = {0, 1, SLUICE_PROGRAM_CONTENT, SLUICE_PROGRAM_OUTPUT, 5};
  for (int i = 0; i < 5; i++)
    if (from[i] < 0 || dup3(from[i], to[i], i == 4 ? O_CLOEXEC : 0) < 0) _exit(127);
  if (syscall(SYS_close_range, 6u, ~0u, 0u) != 0)
    for (int other = (int)sysconf(_SC_OPEN_MAX) - 1; other > 5; other--) close(other); /* before Linux 5.9 */
  setsid();
  for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (chdir(program->folder) != 0) {
    step = (struct sluice_step){SLUICE_STEP_FOLDER, errno};
  } else {
    step = sluice_program_confine(program);
  }
  if (step.number == 0) {
    sluice_program_execute(program);
    step = (struct sluice_step){SLUICE_STEP_PROGRAM, errno};
  }
  while (write(5, &step, sizeof step) < 0 && errno == EINTR) {}
  _exit(127);
}

static void run(struct keeper *keeper, const int descriptors[4]) {
  if (keeper->failed != 0) return tell(keeper, SLUICE_PROGRAM_FAILED, keeper->failed, keeper->error);
  if (keeper->running > 0) end_family(keeper);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return tell(keeper, SLUICE_PROGRAM_FAILED, SLUICE_STEP_PROCESS, errno);
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(127);
    become(keeper->program, descriptors, ends[1]);
  }
  int error = errno;
  close(ends[1]);
  struct sluice_step step = {SLUICE_STEP_PROCESS, error};
  /* Closed by execve(2), or by the end of the process. */
  ssize_t count = 0;
  if (child > 0) {
    while ((count = read(ends[0], &step, sizeof step)) < 0 && errno == EINTR) {}
  }
  close(ends[0]);
  if (child > 0 && count == 0) {
    keeper->running = child;
    keeper->last = keeper->program->processes > 1 ? newest() : 0;
    return tell(keeper, SLUICE_PROGRAM_STARTED, 0, 0);
  }
  if (child > 0) waitpid(child, NULL, 0);
  tell(keeper, SLUICE_PROGRAM_FAILED, step.number, step.error);
}

/* ---- The keeper ---- */

/* False: the worker has closed its end. */
static int obey(struct keeper *keeper) {
  char order;
  int descriptors[4], count = 4;
  ssize_t length = sluice_receive(keeper->asked, &order, 1, descriptors, &count, 0);
  if (length < 0 && errno == EINTR) return 1;
  if (length <= 0) return 0;
  if (order == RUN && count == 4) run(keeper, descriptors);
  if (order == KEEP && keeper->program->processes > 1) keeper->last = newest();
  if (order == SWEEP) sweep(keeper);
  if (order == END) end_family(keeper);
  for (int i = 0; i < count; i++) close(descriptors[i]);
  return 1;
}

static _Noreturn void keep(struct keeper *keeper) {
  prctl(PR_SET_NAME, "sluice-keeper");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  keeper->changes = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (keeper->changes < 0) _exit(1);
  while (1) {
    struct pollfd waiting[2] = {{.fd = keeper->asked, .events = POLLIN}, {.fd = keeper->changes, .events = POLLIN}};
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) break;
    if (waiting[1].revents) {
      struct signalfd_siginfo change;
      while (read(keeper->changes, &change, sizeof change) > 0) {}
      reap(keeper);
    }
    if (waiting[0].revents && !obey(keeper)) break;
  }
  end_family(keeper);
  _exit(0);
}

/* Between the worker and a keeper that is the first of its PID namespace: it waits for the keeper's end. */
static _Noreturn void stand_between(struct keeper *keeper) {
  if (keeper->program->sandbox != SLUICE_PROGRAM_SANDBOX_OFF && become_nobody() != 0) {
    keeper->failed = SLUICE_STEP_USER;
    keeper->error = errno;
  }
  /* Forgotten with the user. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (keeper->program->processes <= 1 || keeper->failed != 0) keep(keeper);
  if (enter_namespaces() != 0) {
    keeper->failed = SLUICE_STEP_NAMESPACE;
    keeper->error = errno;
    keep(keeper);
  }
  pid_t first = fork();
  if (first == 0) keep(keeper);
  if (first < 0) {
    keeper->failed = SLUICE_STEP_PROCESS;
    keeper->error = errno;
    keep(keeper);
  }
  close(keeper->asked);
  while (waitpid(first, NULL, 0) < 0 && errno == EINTR) {}
  _exit(0);
}

int sluice_keeper_start(const sluice_program *program) {
  int ends[2];
  if (sluice_socketpair(ends) != 0) return -1;
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* the coordinator handles Ctrl-C */
    signal(SIGCHLD, SIG_DFL);
    if (sluice_die_with(parent) != 0) _exit(0);
    /* The worker's own descriptors: a process that waits for their end must not wait for this one. Standard error stays. */
    int mine = dup3(ends[1], 0, O_CLOEXEC) == 0 ? 0 : -1;
    if (mine < 0) _exit(1);
    close(1);
    if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
      for (int other = (int)sysconf(_SC_OPEN_MAX) - 1; other > 2; other--) close(other); /* before Linux 5.9 */
    struct keeper keeper = {.program = program, .asked = 0};
    stand_between(&keeper);
  }
  int error = errno;
  close(ends[1]);
  if (child > 0) return ends[0];
  close(ends[0]);
  errno = error;
  return -1;
}

int sluice_keeper_run(int keeper, const int descriptors[4]) {
  const char order = RUN;
  return sluice_send(keeper, &order, 1, descriptors, 4, 0) < 0 ? -1 : 0;
}

static int send_order(int keeper, char order) {
  ssize_t written;
  while ((written = write(keeper, &order, 1)) < 0 && errno == EINTR) {}
  return written == 1 ? 0 : -1;
}

int sluice_keeper_spare(int keeper) { return send_order(keeper, KEEP); }
int sluice_keeper_sweep(int keeper) { return send_order(keeper, SWEEP); }
int sluice_keeper_end(int keeper) { return send_order(keeper, END); }

int sluice_namespaces_problem(void) {
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    if (become_nobody() != 0 || enter_namespaces() != 0) _exit(errno & 0xFF);
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
