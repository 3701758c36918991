/* The sandbox of a program of any language: no new privileges, Landlock, a list of system calls, and resource limits, in that
 * order. The list is wider than that of a plugin's worker, since an interpreter loads modules and reads its own files; and a
 * call that is not on it fails with EPERM and does not end the program: interpreters try calls that they can do without. */
#define _GNU_SOURCE
#include "program_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "sandbox.h"
#include "worker.h"

/* ---- Files ---- */

/* Where distributions install interpreters, their libraries, and what those read when they start. Of /etc only that: it holds
 * passwords and keys. */
static const char *const installed[] = {
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/alternatives", "/etc/localtime", "/etc/python3", "/etc/perl", "/etc/magic", "/etc/mime.types",
    "/etc/ssl/openssl.cnf", "/dev/zero", "/dev/random", "/dev/urandom",
};

/* 0 also where there is no such file. */
static int allow_path(int rules, const char *path, uint64_t access) {
  int file = open(path, O_PATH | O_CLOEXEC);
  if (file < 0) return 0;
  int failed = sluice_landlock_allow(rules, file, access);
  close(file);
  return failed;
}

/* A file that the command names: the program, or the script that an interpreter is to run. A folder that it names is for
 * `reads` to allow. */
static int allow_word(int rules, const char *word) {
  struct stat kind;
  if (stat(word, &kind) != 0 || !S_ISREG(kind.st_mode)) return 0;
  return allow_path(rules, word, EXECUTE | READ_FILE);
}

static int close_files(const sluice_program *program) {
  int abi = sluice_landlock_abi();
  if (abi < 1) {
    errno = ENOSYS;
    return -1;
  }
  uint64_t handled = sluice_landlock_files(abi);
  struct ruleset attributes = {
      .files = handled,
      .tcp = abi >= 4 ? 3 /* bind, connect */ : 0,
      .scope = abi >= 6 ? 3 /* abstract sockets, signals */ : 0,
  };
  int rules = (int)syscall(CREATE_RULESET, &attributes, sluice_landlock_size(abi), 0);
  if (rules < 0) return -1;
  const uint64_t reading = EXECUTE | READ_FILE | READ_FOLDER;
  int failed = allow_path(rules, "/dev/null", (READ_FILE | WRITE_FILE | TRUNCATE) & handled);
  for (size_t i = 0; i < sizeof installed / sizeof *installed && !failed; i++)
    failed = allow_path(rules, installed[i], reading);
  for (const char *const *path = program->reads; *path && !failed; path++) failed = allow_path(rules, *path, reading);
  for (const char *const *word = program->words; *word && !failed; word++) failed = allow_word(rules, *word);
  if (!failed) failed = (int)syscall(RESTRICT_SELF, rules, 0);
  int error = errno;
  close(rules);
  errno = error;
  return failed;
}

/* ---- System calls ---- */

static int allow_descriptors(scmp_filter_ctx filter) {
  int failed = 0;
  ALLOW(read); ALLOW(write); ALLOW(readv); ALLOW(writev); ALLOW(pread64); ALLOW(pwrite64); ALLOW(preadv); ALLOW(pwritev);
  ALLOW(preadv2); ALLOW(pwritev2); ALLOW(lseek); ALLOW(close); ALLOW(close_range); ALLOW(dup); ALLOW(dup2); ALLOW(dup3);
  ALLOW(fstat); ALLOW(ftruncate); ALLOW(fallocate); ALLOW(fadvise64); ALLOW(readahead); ALLOW(sendfile); ALLOW(copy_file_range);
  ALLOW(fsync); ALLOW(fdatasync); ALLOW(flock); ALLOW(fstatfs);
  /* Not F_SETOWN: whose descriptor it is gets signals. */
  const int commands[] = {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC, F_GETLK, F_SETLK, F_SETLKW};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) ALLOW_IF(fcntl, IS(1, (scmp_datum_t)commands[i]));
  const unsigned long controls[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
  for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) ALLOW_IF(ioctl, SAME(1, controls[i]));
  ALLOW(pipe); ALLOW(pipe2); ALLOW(eventfd2); ALLOW(timerfd_create); ALLOW(timerfd_settime); ALLOW(timerfd_gettime);
  ALLOW(signalfd4); ALLOW(poll); ALLOW(ppoll); ALLOW(select); ALLOW(pselect6);
  ALLOW(epoll_create); ALLOW(epoll_create1); ALLOW(epoll_ctl); ALLOW(epoll_wait); ALLOW(epoll_pwait); ALLOW(epoll_pwait2);
  /* A pair of datagram sockets could be reconnected to any service's path; a pair of streams cannot. */
  ALLOW_IF(socketpair, IS(0, AF_UNIX), ((struct scmp_arg_cmp){1, SCMP_CMP_MASKED_EQ, 0xF, SOCK_STREAM}));
  ALLOW_IF(sendto, IS(4, 0));
  ALLOW(recvfrom); ALLOW(sendmsg); ALLOW(recvmsg); ALLOW(shutdown); ALLOW(getsockname); ALLOW(getpeername);
  ALLOW(getsockopt);
  return failed;
}

/* Landlock restricts the paths. */
static int allow_paths(scmp_filter_ctx filter) {
  int failed = 0;
  ALLOW(open); ALLOW(openat); ALLOW(stat); ALLOW(lstat); ALLOW(newfstatat); ALLOW(statx); ALLOW(statfs);
  ALLOW(access); ALLOW(faccessat); ALLOW(faccessat2); ALLOW(readlink); ALLOW(readlinkat);
  ALLOW(getdents); ALLOW(getdents64); ALLOW(getcwd); ALLOW(chdir); ALLOW(fchdir); ALLOW(umask);
  return failed;
}

static int allow_computation(scmp_filter_ctx filter) {
  int failed = 0;
  ALLOW(mmap); ALLOW(mprotect); ALLOW(munmap); ALLOW(mremap); ALLOW(madvise); ALLOW(msync); ALLOW(mincore); ALLOW(brk);
  ALLOW(futex); ALLOW(futex_waitv); ALLOW(sched_yield); ALLOW(sched_getaffinity); ALLOW(sched_getparam);
  ALLOW(sched_getscheduler); ALLOW(sched_get_priority_min); ALLOW(sched_get_priority_max); ALLOW(getcpu); ALLOW(getpriority);
  ALLOW(membarrier); ALLOW(rseq); ALLOW(set_robust_list); ALLOW(get_robust_list); ALLOW(set_tid_address);
#if defined(__x86_64__)
  ALLOW(arch_prctl);
#endif
  ALLOW(rt_sigaction); ALLOW(rt_sigprocmask); ALLOW(rt_sigreturn); ALLOW(rt_sigpending); ALLOW(rt_sigsuspend);
  ALLOW(rt_sigtimedwait); ALLOW(sigaltstack); ALLOW(restart_syscall); ALLOW(pause); ALLOW(alarm);
  ALLOW(nanosleep); ALLOW(clock_nanosleep); ALLOW(clock_gettime); ALLOW(clock_getres); ALLOW(gettimeofday); ALLOW(time);
  ALLOW(times); ALLOW(getitimer); ALLOW(setitimer);
  ALLOW(getpid); ALLOW(gettid); ALLOW(getppid); ALLOW(getpgrp); ALLOW(getpgid); ALLOW(getsid);
  ALLOW(getuid); ALLOW(geteuid); ALLOW(getgid); ALLOW(getegid); ALLOW(getresuid); ALLOW(getresgid); ALLOW(getgroups);
  ALLOW(uname); ALLOW(sysinfo); ALLOW(getrusage); ALLOW(getrandom); ALLOW(getrlimit); ALLOW(setrlimit);
  ALLOW_IF(prlimit64, IS(0, 0));
  const int names[] = {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, 0x53564d41 /* PR_SET_VMA: names of memory */};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) ALLOW_IF(prctl, SAME(0, (scmp_datum_t)names[i]));
  ALLOW(execve); ALLOW(execveat); ALLOW(exit); ALLOW(exit_group);
  return failed;
}

/* A program of one process starts threads only, and signals itself only. That of several is alone in its PID namespace. */
static int allow_processes(scmp_filter_ctx filter, int several) {
  int failed = 0;
  /* CLONE_NEWTIME has a bit of the signal, and clone(2) takes it for that. */
  const scmp_datum_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID
                                  | CLONE_NEWNET;
  /* clone3 hides its flags in memory; if it is missing, glibc falls back to clone. */
  failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  if (several) {
    ALLOW_IF(clone, LACKS(0, namespaces));
    ALLOW(fork); ALLOW(vfork); ALLOW(wait4); ALLOW(waitid); ALLOW(setpgid); ALLOW(setsid);
    ALLOW(kill); ALLOW(tkill); ALLOW(tgkill); ALLOW(pidfd_open); ALLOW(pidfd_send_signal);
  } else {
    const scmp_datum_t own = (scmp_datum_t)getpid();
    failed |= seccomp_rule_add_array(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
        (struct scmp_arg_cmp[]){{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD | namespaces, CLONE_THREAD}});
    ALLOW_IF(kill, SAME(0, own));
    ALLOW_IF(tgkill, SAME(0, own));
    ALLOW(wait4); ALLOW(waitid);
  }
  return failed;
}

static int close_system_calls(uint32_t processes) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) {
    errno = ENOMEM;
    return -1;
  }
  seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree: the order of rules costs nothing */
  seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  int failed = allow_descriptors(filter) | allow_paths(filter) | allow_computation(filter);
  failed |= allow_processes(filter, processes > 1);
  int error = failed ? EINVAL : 0;
  if (!failed) {
    failed = seccomp_load(filter);
    error = -failed;
  }
  seccomp_release(filter);
  errno = error;
  return failed ? -1 : 0;
}

/* ---- All of it ---- */

static int limit(int resource, rlim_t value) {
  struct rlimit both = {.rlim_cur = value, .rlim_max = value};
  return setrlimit(resource, &both);
}

/* The processes of ours in the program's user namespace: the keeper, and the one before it. */
enum { OURS = 2 };
/* Of a program of one process. */
enum { THREADS = 64 };

static int set_limits(const sluice_program *program, int has_namespace) {
  if (limit(RLIMIT_CORE, 0) != 0 || limit(RLIMIT_NOFILE, 256) != 0) return -1;
  if (limit(RLIMIT_AS, (rlim_t)program->memory) != 0 || limit(RLIMIT_FSIZE, (rlim_t)program->output) != 0) return -1;
  if (!has_namespace) return 0; /* it would be counted together with all else of its user */
  return limit(RLIMIT_NPROC, (program->processes > 1 ? program->processes : THREADS) + OURS);
}

/* A path that is misspelt would otherwise show as a file that may not be read. */
static int check_reads(const sluice_program *program) {
  for (const char *const *path = program->reads; *path; path++) {
    int file = open(*path, O_PATH | O_CLOEXEC);
    if (file < 0) return -1;
    close(file);
  }
  return 0;
}

struct sluice_step sluice_program_confine(const sluice_program *program, int has_namespace) {
  if (check_reads(program) != 0) return (struct sluice_step){SLUICE_STEP_READS, errno};
  const int required = program->sandbox == SLUICE_PROGRAM_SANDBOX_REQUIRE;
  if (program->sandbox != SLUICE_PROGRAM_SANDBOX_OFF) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return (struct sluice_step){SLUICE_STEP_CALLS, errno};
    if (close_files(program) != 0 && required) return (struct sluice_step){SLUICE_STEP_FILES, errno};
    if (close_system_calls(program->processes) != 0 && required) return (struct sluice_step){SLUICE_STEP_CALLS, errno};
  }
  /* Last, since this process, a copy of the worker, may have more memory than the program is to have. */
  if (set_limits(program, has_namespace) != 0) return (struct sluice_step){SLUICE_STEP_LIMITS, errno};
  return (struct sluice_step){0};
}

void sluice_program_execute(const sluice_program *program) {
  clearenv();
  for (const char *const *one = program->environment; *one; one++) putenv((char *)*one);
  execvp(program->words[0], (char *const *)program->words);
}
