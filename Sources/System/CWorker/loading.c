/* The sandbox while plugins are loaded and opened: that of their capability, and what loading a library needs. */
#define _GNU_SOURCE
#include "worker.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Files ---- */

/* What libraries are made of and read when they are loaded: no home, no configuration of services, no private keys. */
static const char *const installed[] = {
    "/usr", "/lib", "/lib64", "/opt", "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/localtime", "/etc/locale.alias", "/etc/magic", "/etc/magic.mime", "/etc/fonts",
    "/var/cache/fontconfig", "/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/nsswitch.conf", "/etc/papersize",
    "/etc/mime.types", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/version",
    "/proc/sys/vm", "/proc/sys/kernel", "/sys/devices/system", "/dev/random", "/dev/urandom", "/dev/zero", NULL,
};

static int allow_beside(int rules, const char *library) {
  char path[PATH_MAX];
  char *slash = realpath(library, path) ? strrchr(path, '/') : NULL;
  if (!slash) return 0;
  slash[slash == path] = '\0';
  return sluice_landlock_allow_path(rules, path, EXECUTE | READ_FILE | READ_FOLDER);
}

/* Where a library was found that this process has, others lie that its plugins need. */
static int allow_loaded(struct dl_phdr_info *library, size_t size, void *rules) {
  (void)size;
  return library->dlpi_name[0] == '/' ? allow_beside(*(int *)rules, library->dlpi_name) : 0;
}

static int allow_search_path(int rules) {
  const char *next = getenv("LD_LIBRARY_PATH");
  int failed = 0;
  while (next && *next) {
    char path[PATH_MAX];
    size_t length = strcspn(next, ":;");
    if (length > 0 && length < sizeof path) {
      memcpy(path, next, length);
      path[length] = '\0';
      failed |= sluice_landlock_allow_path(rules, path, EXECUTE | READ_FILE | READ_FOLDER);
    }
    next += length + (next[length] != '\0');
  }
  return failed;
}

/* A file that an option names, from `folder` on. A channel writes to it, and makes it where it is not there. */
static int allow_named(int rules, int folder, const char *path, int writes) {
  const uint64_t known = sluice_landlock_files(sluice_landlock_abi());
  const int from = folder >= 0 ? folder : AT_FDCWD;
  struct stat kind;
  int failed = 0, file = openat(from, path, O_PATH | O_CLOEXEC);
  if (file >= 0) {
    uint64_t access = READ_FILE | READ_FOLDER;
    if (writes && fstat(file, &kind) == 0 && S_ISREG(kind.st_mode)) access |= WRITE_FILE | TRUNCATE;
    failed = sluice_landlock_allow(rules, file, access & known);
  } else if (writes) {
    char parent[PATH_MAX];
    char *slash = strlen(path) < sizeof parent ? strrchr(strcpy(parent, path), '/') : NULL;
    if (!slash) return 0;
    slash[slash == parent] = '\0';
    file = openat(from, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) failed = sluice_landlock_allow_folder(rules, file);
  }
  if (file >= 0) close(file);
  return failed;
}

static uint32_t confine_files(uint32_t capability, int folder, const char *const *libraries, const char *const *files) {
  int rules = sluice_landlock_begin(capability);
  if (rules < 0) return 0;
  int failed = dl_iterate_phdr(allow_loaded, &rules) | allow_search_path(rules);
  for (const char *const *path = installed; *path; path++)
    failed |= sluice_landlock_allow_path(rules, *path, EXECUTE | READ_FILE | READ_FOLDER);
  failed |= sluice_landlock_allow_path(rules, "/dev/null", READ_FILE | WRITE_FILE);
  for (; *libraries; libraries++) failed |= allow_beside(rules, *libraries);
  for (; *files; files++) failed |= allow_named(rules, folder, *files, folder >= 0 && capability != 1);
  if (folder >= 0) failed |= sluice_landlock_allow_folder(rules, folder);
  if (capability == 2) failed |= sluice_landlock_allow_network(rules);
  return sluice_landlock_close(rules, failed);
}

/* ---- System calls ---- */

/* What libraries call when they are loaded and set up, and what the sandbox itself is closed with. */
static int allow_loading(scmp_filter_ctx filter) {
  int failed = 0;
  ALLOW(mmap); ALLOW(mprotect); ALLOW(msync); ALLOW(mincore); ALLOW(mlock); ALLOW(munlock);
  ALLOW_IF(open, LACKS(2, S_ISUID | S_ISGID));
  ALLOW_IF(openat, LACKS(3, S_ISUID | S_ISGID));
  ALLOW(stat); ALLOW(lstat); ALLOW(newfstatat); ALLOW(statx); ALLOW(access); ALLOW(faccessat); ALLOW(faccessat2);
  ALLOW(readlink); ALLOW(readlinkat); ALLOW(getdents64); ALLOW(statfs); ALLOW(fstatfs); ALLOW(getcwd); ALLOW(chdir); ALLOW(fchdir);
  ALLOW(dup2); ALLOW(dup3); ALLOW(fcntl); ALLOW(close_range); ALLOW(umask); ALLOW(fsync); ALLOW(fdatasync); ALLOW(fallocate);
  ALLOW(memfd_create); ALLOW(pipe); ALLOW(pipe2); ALLOW(eventfd2); ALLOW(epoll_create1); ALLOW(epoll_ctl); ALLOW(select);
  ALLOW(pselect6); ALLOW(timerfd_create); ALLOW(timerfd_settime);
  ALLOW_IF(ioctl, IS(1, FIOCLEX)); ALLOW_IF(ioctl, IS(1, FIONREAD)); ALLOW_IF(ioctl, IS(1, FIONBIO));
  ALLOW(getppid); ALLOW(getpgrp); ALLOW(getsid); ALLOW(getresuid); ALLOW(getresgid); ALLOW(getgroups); ALLOW(capget);
  ALLOW(getrlimit); ALLOW(setrlimit); ALLOW_IF(prlimit64, IS(0, 0)); ALLOW(times); ALLOW(getcpu); ALLOW(arch_prctl);
  ALLOW(set_tid_address); ALLOW(sched_getparam); ALLOW(sched_getscheduler); ALLOW(rt_sigpending); ALLOW(rt_sigtimedwait);
  ALLOW(pause); ALLOW(getitimer); ALLOW(setitimer); ALLOW(alarm);
  ALLOW_IF(kill, IS(0, (scmp_datum_t)getpid()));
  const int options[] = {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ, PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS,
                         PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, 0x53564d41 /* PR_SET_VMA */};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) ALLOW_IF(prctl, IS(0, (scmp_datum_t)options[i]));
  ALLOW(seccomp); ALLOW(capset);
  for (int call = CREATE_RULESET; call <= RESTRICT_SELF; call++) failed |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
  return failed;
}

/* Processes end the worker, so that its message can name the call; what else is missing is an error for the library. */
static int forbid_processes(scmp_filter_ctx filter) {
  int failed = 0;
  const int calls[] = {SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(execveat)};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) failed |= seccomp_rule_add(filter, SCMP_ACT_TRAP, calls[i], 0);
  failed |= seccomp_rule_add_array(filter, SCMP_ACT_TRAP, SCMP_SYS(clone), 1, &LACKS(0, CLONE_THREAD));
  /* A thread is found when the sandbox closes. clone3 hides its flags in memory; if it is missing, glibc falls back to clone. */
  ALLOW_IF(clone, HAS(0, CLONE_THREAD));
  failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  return failed;
}

static uint32_t confine_calls(uint32_t capability, int writes) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return 0;
  seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree: the order of rules costs nothing */
  seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  int failed = sluice_allow_content(filter) | allow_loading(filter) | forbid_processes(filter);
  if (writes) {
    failed |= sluice_allow_store(filter);
    ALLOW(flock); /* a channel keeps its file to itself */
  }
  if (capability == 2) {
    failed |= sluice_allow_network(filter);
    /* A door is one end of such a pair, which no call connects to another socket. */
    ALLOW_IF(socketpair, IS(0, AF_UNIX), ((struct scmp_arg_cmp){1, SCMP_CMP_MASKED_EQ, 0xF, SOCK_SEQPACKET}));
  }
  if (!failed) failed = seccomp_load(filter);
  seccomp_release(filter);
  return failed ? 0 : SLUICE_SANDBOX_SYSCALLS;
}

uint32_t sluice_sandbox_begin(uint32_t capability, int folder, const char *const *libraries, const char *const *files) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
  return SLUICE_SANDBOX_NO_NEW_PRIVILEGES | confine_files(capability, folder, libraries, files)
         | confine_calls(capability, folder >= 0);
}
