/* The keeper of a worker's program: a process of ours that starts it, and outlives all that the program starts.
 *
 * A program that may start processes runs in a PID namespace, whose first process the keeper is: what the program
 * leaves behind becomes the keeper's child, and all of it ends with the keeper. The user namespace is what lets an
 * ordinary user make one, and what the kernel counts processes in (RLIMIT_NPROC). */
#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
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
#include <time.h>
#include <unistd.h>

#include "program_sandbox.h"
#include "sandbox.h"
#include "worker.h"

/* As many as `processes` can be. */
enum { MOST_SPARED = 1000 };

enum { RUN = 'r', KEEP = 'k', SWEEP = 's', END = 'e' };

/* A process that may stay as long as the program. */
struct spared {
  pid_t pid;
  int process; /* a descriptor of it: its number is given to another once it has ended */
};

/* What the keeper knows. One for each process. */
struct keeper {
  const sluice_program *program;
  int asked;          /* the socket to the worker */
  int changes;        /* readable when a child has ended */
  pid_t running;      /* the program; 0: none */
  pid_t last;         /* the process that began last when it was looked for the last time */
  int64_t looked;     /* when that was, in nanoseconds of the monotonic clock */
  struct spared *spared;
  int spared_count;
  int has_namespace;  /* a user namespace, in which the family is counted */
  uint32_t failed;    /* the step that failed before any program was asked for; 0: none */
  int error;          /* its errno */
};

static void tell(const struct keeper *keeper, uint32_t kind, uint32_t step, int32_t detail) {
  sluice_program_news news = {.kind = kind, .step = step, .detail = detail};
  while (write(keeper->asked, &news, sizeof news) < 0 && errno == EINTR) {}
}

/* ---- The family ---- */

/* The number of the process that began last in this PID namespace: the next one's, less one. */
static pid_t newest(void) {
  pid_t child = vfork();
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, NULL, 0);
  return child;
}

/* Whether the process of this number may stay. */
static int is_spared(struct keeper *keeper, pid_t pid) {
  if (pid == keeper->running) return 1;
  for (int i = 0; i < keeper->spared_count; i++) {
    if (keeper->spared[i].pid != pid) continue;
    struct pollfd end = {.fd = keeper->spared[i].process, .events = POLLIN};
    if (poll(&end, 1, 0) <= 0) return 1;
    close(keeper->spared[i].process);
    keeper->spared[i] = keeper->spared[--keeper->spared_count];
    return 0;
  }
  return 0;
}

/* Ends the process of this number, unless it may stay, or only asks whether there is such a one. A thread has a number too, and
 * kill(2) would take it for its process: pidfd_open(2) does not. */
static int end_one(struct keeper *keeper, pid_t pid, int number) {
  int process = (int)syscall(SYS_pidfd_open, pid, 0);
  if (process < 0) return 0;
  int found = !is_spared(keeper, pid) && syscall(SYS_pidfd_send_signal, process, number, NULL, 0) == 0;
  if (found && number == SIGKILL) {
    struct pollfd end = {.fd = process, .events = POLLIN};
    poll(&end, 1, 1000);
  }
  close(process);
  return found;
}

/* The same for each process that began after one and before another, in the order in which the kernel gives numbers: once all were
 * given it begins anew. */
static int end_between(struct keeper *keeper, pid_t after, pid_t until, pid_t most, int number) {
  int count = 0;
  for (pid_t pid = after + 1; until < after ? pid <= most : pid < until; pid++) count += end_one(keeper, pid, number);
  if (until < after)
    for (pid_t pid = 2; pid < until; pid++) count += end_one(keeper, pid, number);
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

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* No kernel starts a process in less: in this time it cannot have given all numbers. */
enum { NANOSECONDS_TO_START = 5000 };

static void sweep(struct keeper *keeper) {
  reap(keeper);
  static pid_t most;
  if (most == 0) most = most_processes();
  pid_t newborn = newest();
  /* So long that all numbers may have been given meanwhile, and the order of two says nothing: each is asked for. */
  pid_t after = now() - keeper->looked > (int64_t)most * NANOSECONDS_TO_START ? 1 : keeper->last;
  pid_t until = after == 1 ? most + 1 : newborn;
  int count = newborn > 0 ? end_between(keeper, after, until, most, 0) : 0;
  if (count > 0 || newborn < 0) {
    /* While all stand still, none starts another behind the one that is ended. The kernel signals also those that are being
     * started. The keeper, the namespace's first process, is left out. */
    kill(-1, SIGSTOP);
    newborn = newest();
    until = after == 1 || newborn < 0 ? most + 1 : newborn;
    count = end_between(keeper, after, until, most, SIGKILL);
    kill(-1, SIGCONT);
    reap(keeper);
  }
  keeper->last = newborn > 0 ? newborn : keeper->last;
  keeper->looked = now();
  tell(keeper, SLUICE_PROGRAM_SWEPT, 0, count);
}

static void spare(struct keeper *keeper) {
  while (keeper->spared_count > 0) close(keeper->spared[--keeper->spared_count].process);
  pid_t newborn = newest();
  for (pid_t pid = 2; pid < newborn && keeper->spared_count < MOST_SPARED; pid++) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process >= 0) keeper->spared[keeper->spared_count++] = (struct spared){pid, process};
  }
  keeper->last = newborn > 0 ? newborn : keeper->last;
  keeper->looked = now();
  tell(keeper, SLUICE_PROGRAM_SWEPT, 0, 0);
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

static _Noreturn void become(const sluice_program *program, int has_namespace, const int descriptors[4], int failures) {
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
    step = sluice_program_confine(program, has_namespace);
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
    become(keeper->program, keeper->has_namespace, descriptors, ends[1]);
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
    if (keeper->program->processes > 1) keeper->last = newest();
    keeper->looked = now();
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
  const int has_family = keeper->program->processes > 1 && keeper->failed == 0; /* else the keeper sees the processes of others */
  if (order == KEEP && has_family) spare(keeper);
  if (order == SWEEP && has_family) sweep(keeper);
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
  if (keeper->program->sandbox != SLUICE_PROGRAM_SANDBOX_OFF && sluice_become_nobody() != 0) {
    keeper->failed = SLUICE_STEP_USER;
    keeper->error = errno;
  }
  /* Forgotten with the user. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (keeper->failed != 0) keep(keeper);
  if (keeper->program->processes <= 1) {
    /* Its threads are counted there; where none can be had, its memory alone limits them. */
    keeper->has_namespace = sluice_enter_namespaces(0) == 0;
    keep(keeper);
  }
  keeper->spared = calloc(MOST_SPARED, sizeof *keeper->spared);
  keeper->has_namespace = keeper->spared && sluice_enter_namespaces(CLONE_NEWPID) == 0;
  if (!keeper->has_namespace) {
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
