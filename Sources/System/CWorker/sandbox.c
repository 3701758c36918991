/* The sandbox: resource limits, no new privileges, Landlock, and a seccomp allowlist, in that order. */
#define _GNU_SOURCE
#include "worker.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sched.h>
#include <termios.h>
#include <unistd.h>

/* ---- Landlock ---- */

int sluice_landlock_abi(void) { return (int)syscall(CREATE_RULESET, NULL, 0, ASK_VERSION); }

uint64_t sluice_landlock_files(int abi) {
  if (abi >= 5) return (1u << 16) - 1; /* + device ioctl */
  if (abi >= 3) return (1u << 15) - 1; /* + truncate */
  if (abi >= 2) return (1u << 14) - 1; /* + refer */
  return (1u << 13) - 1;
}

size_t sluice_landlock_size(int abi) { return abi >= 6 ? 24 : abi >= 4 ? 16 : 8; }

int sluice_landlock_allow(int rules, int parent, uint64_t access) {
  struct stat kind;
  if (fstat(parent, &kind) != 0) return -1;
  if (!S_ISDIR(kind.st_mode)) access &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;
  struct below rule = {.allowed = access, .parent = parent};
  return (int)syscall(ADD_RULE, rules, RULE_BELOW, &rule, 0);
}

/* The files read to resolve names and check certificates. */
static const char *const network_files[] = {
    "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services",
    /* Not all of /etc/ssl: it holds the machine's private keys. */
    "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/usr/lib/ssl", "/usr/share/ca-certificates",
    "/run/systemd/resolve", NULL,
};

int sluice_landlock_begin(uint32_t capability) {
  int abi = sluice_landlock_abi();
  if (abi < 1) return -1;
  struct ruleset attributes = {
      .files = sluice_landlock_files(abi),
      .tcp = abi >= 4 ? (capability == 2 ? 1 /* bind */ : 3 /* bind, connect */) : 0,
      .scope = abi >= 6 ? 3 /* abstract sockets, signals */ : 0,
  };
  return (int)syscall(CREATE_RULESET, &attributes, sluice_landlock_size(abi), 0);
}

int sluice_landlock_allow_folder(int rules, int folder) {
  return sluice_landlock_allow(rules, folder, STORE & sluice_landlock_files(sluice_landlock_abi()));
}

int sluice_landlock_allow_path(int rules, const char *path, uint64_t access) {
  int file = open(path, O_PATH | O_CLOEXEC);
  if (file < 0) return 0; /* not every system has each */
  int failed = sluice_landlock_allow(rules, file, access);
  close(file);
  return failed;
}

int sluice_landlock_allow_network(int rules) {
  int failed = 0;
  for (const char *const *file = network_files; *file; file++)
    failed |= sluice_landlock_allow_path(rules, *file, READ_FILE | READ_FOLDER);
  return failed;
}

uint32_t sluice_landlock_close(int rules, int failed) {
  int abi = sluice_landlock_abi();
  if (!failed && syscall(RESTRICT_SELF, rules, 0) != 0) failed = 1;
  close(rules);
  if (failed) return 0;
  return SLUICE_SANDBOX_FILES | (abi >= 4 ? SLUICE_SANDBOX_TCP : 0) | (abi >= 6 ? SLUICE_SANDBOX_SCOPE : 0);
}

static uint32_t close_files(uint32_t capability, int folder) {
  int rules = sluice_landlock_begin(capability);
  if (rules < 0) return 0;
  int failed = 0;
  if (capability == 1) failed |= sluice_landlock_allow_folder(rules, folder);
  if (capability == 2) failed |= sluice_landlock_allow_network(rules);
  return sluice_landlock_close(rules, failed);
}

/* ---- System calls ---- */

/* The server's, which is no capability of the contract. */
enum { FRONT = 3, DOOR = 4 };

/* Allows computation, non-executable memory, and the descriptors that are open. */
int sluice_allow_content(scmp_filter_ctx filter) {
  int failed = 0;
  ALLOW(read); ALLOW(pread64); ALLOW(readv); ALLOW(preadv);
  ALLOW(write); ALLOW(pwrite64); ALLOW(writev); ALLOW(pwritev);
  ALLOW(lseek); ALLOW(fstat); ALLOW(close); ALLOW(dup); ALLOW(ftruncate);
  const int commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) ALLOW_IF(fcntl, IS(1, (scmp_datum_t)commands[i]));
  ALLOW_IF(ioctl, IS(1, TCGETS)); /* isatty */
  ALLOW_IF(mmap, LACKS(2, PROT_EXEC));
  ALLOW_IF(mprotect, LACKS(2, PROT_EXEC));
  ALLOW(munmap); ALLOW(mremap); ALLOW(madvise); ALLOW(brk);
  ALLOW(futex); ALLOW(sched_yield); ALLOW(sched_getaffinity); ALLOW(membarrier); ALLOW(rseq); ALLOW(set_robust_list);
  ALLOW(clock_gettime); ALLOW(clock_getres); ALLOW(clock_nanosleep); ALLOW(nanosleep); ALLOW(gettimeofday); ALLOW(time);
  ALLOW(getpid); ALLOW(gettid); ALLOW(getuid); ALLOW(geteuid); ALLOW(getgid); ALLOW(getegid);
  ALLOW(getrandom); ALLOW(uname); ALLOW(sysinfo); ALLOW(getrusage); ALLOW(poll); ALLOW(ppoll);
  ALLOW(rt_sigprocmask); ALLOW(rt_sigreturn); ALLOW(sigaltstack); ALLOW(restart_syscall);
  /* The kernel uses 32 bits of the number, a comparison uses 64: add one rule for each allowed number. */
  for (unsigned number = 1; number <= 64; number++)
    if (number != SIGSYS) ALLOW_IF(rt_sigaction, SAME(0, number));
  ALLOW_IF(tgkill, IS(0, (scmp_datum_t)getpid())); /* abort */
  ALLOW_IF(prlimit64, IS(0, 0), IS(1, RLIMIT_AS));
  ALLOW_IF(setrlimit, IS(0, RLIMIT_AS));
  ALLOW_IF(sendmsg, IS(0, SLUICE_FD_CONTROL));
  ALLOW_IF(recvmsg, IS(0, SLUICE_FD_CONTROL));
  ALLOW(exit); ALLOW(exit_group);
  return failed;
}

/* Allows file calls; Landlock restricts the paths. New files get no set-user-ID bit: otherwise a stage could
 * create a program of the worker's user with bytes of a sender's choice. fchmod(2) is forbidden for that
 * reason, and because it would change the sender's file. */
static int allow_files(scmp_filter_ctx filter) {
  int failed = 0;
  ALLOW_IF(openat, LACKS(3, S_ISUID | S_ISGID));
  ALLOW(newfstatat); ALLOW(statx); ALLOW(faccessat); ALLOW(faccessat2); ALLOW(readlinkat);
  ALLOW(getdents64); ALLOW(fstatfs);
  return failed;
}

int sluice_allow_store(scmp_filter_ctx filter) {
  int failed = allow_files(filter);
  ALLOW_IF(mkdirat, LACKS(2, S_ISUID | S_ISGID));
  ALLOW(renameat); ALLOW(renameat2); ALLOW(linkat); ALLOW(unlinkat);
  ALLOW(fsync); ALLOW(fdatasync); ALLOW(sync_file_range); ALLOW(syncfs); ALLOW(fallocate); ALLOW(copy_file_range);
  ALLOW(fadvise64);
  return failed;
}

int sluice_allow_network(scmp_filter_ctx filter) {
  int failed = allow_files(filter);
  ALLOW_IF(socket, IS(0, AF_INET));
  ALLOW_IF(socket, IS(0, AF_INET6));
  /* The resolver asks for the machine's addresses. Other netlink families tell more than that. */
  ALLOW_IF(socket, IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE));
  /* Only that socket may be bound; addresses of other families are longer. A channel accepts no
   * connections. */
  ALLOW_IF(bind, IS(2, sizeof(struct sockaddr_nl)));
  /* glibc sometimes asks for nscd: it gets "no such family", and asks the name server. */
  failed |= seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                   (struct scmp_arg_cmp[]){IS(0, AF_UNIX)});
  /* A pair of datagram sockets could be reconnected to any service's path; a pair of streams cannot. */
  ALLOW_IF(socketpair, IS(0, AF_UNIX), ((struct scmp_arg_cmp){1, SCMP_CMP_MASKED_EQ, 0xF, SOCK_STREAM}));
  ALLOW(connect); ALLOW(getsockname); ALLOW(getpeername); ALLOW(getsockopt);
  ALLOW(setsockopt); ALLOW(sendto); ALLOW(recvfrom); ALLOW(sendmmsg); ALLOW(shutdown);
  ALLOW_IF(sendmsg, IS_NOT(0, SLUICE_FD_CONTROL));
  ALLOW_IF(recvmsg, IS_NOT(0, SLUICE_FD_CONTROL));
  ALLOW(epoll_create1); ALLOW(epoll_ctl); ALLOW(epoll_wait); ALLOW(epoll_pwait); ALLOW(eventfd2); ALLOW(pipe2);
  ALLOW_IF(fcntl, IS(1, F_SETFL));
  ALLOW_IF(ioctl, IS(1, FIONBIO));
  ALLOW_IF(ioctl, IS(1, FIONREAD));
  ALLOW(access); ALLOW(open); ALLOW(readlink); ALLOW(stat);
  ALLOW(fdatasync); ALLOW(fsync);
  /* The resolver starts a thread. clone3 hides its flags in memory; if it is missing, glibc falls back to
   * clone. */
  ALLOW_IF(clone, HAS(0, CLONE_THREAD));
  failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  ALLOW_IF(prctl, IS(0, PR_SET_NAME));
  return failed;
}

/* Allows what a server needs of connections to sockets that were opened for it. It opens, connects and binds nothing: what
 * descriptors it has beyond those comes over the control socket. */
static int allow_front(scmp_filter_ctx filter) {
  int failed = 0;
  ALLOW(accept4); ALLOW(recvfrom); ALLOW(sendfile); ALLOW(getsockname); ALLOW_IF(fcntl, IS(1, F_SETFL));
  /* To no address: with MSG_FASTOPEN a socket that has listened connects, and Landlock does not see that. */
  ALLOW_IF(sendto, IS(4, 0));
  /* The sockets that listen are the coordinator's as well: those that are shut down, or have a filter of packets, would stay so
   * after this process. */
  ALLOW_IF(shutdown, SAME(1, SHUT_WR));
  ALLOW_IF(setsockopt, SAME(1, IPPROTO_TCP), SAME(2, TCP_NODELAY));
  ALLOW_IF(setsockopt, SAME(1, IPPROTO_TCP), SAME(2, TCP_NOTSENT_LOWAT));
  ALLOW(epoll_ctl); ALLOW(epoll_wait); ALLOW(epoll_pwait); ALLOW(eventfd2);
  ALLOW(fdatasync);
  ALLOW_IF(clone, HAS(0, CLONE_THREAD));
  failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  ALLOW_IF(prctl, IS(0, PR_SET_NAME));
  return failed;
}

static int close_system_calls(uint32_t capability, int journal) {
  /* TRAP and not KILL, so that the handler can record the call's number for the message. The signal is
   * delivered even if it is blocked, and no other handler can be set. */
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
  if (!filter) return 0;
  seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree: the order of rules costs nothing */
  seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  int failed = sluice_allow_content(filter);
  if (capability == 1) failed |= sluice_allow_store(filter);
  if (capability == 2) failed |= sluice_allow_network(filter);
  if (capability == FRONT || capability == DOOR) failed |= allow_front(filter);
  /* Its clients may pass descriptors of files. */
  if (capability == DOOR) {
    ALLOW_IF(recvmsg, IS_NOT(0, SLUICE_FD_CONTROL));
    ALLOW(fstatfs);
    /* Who the client is. */
    ALLOW_IF(getsockopt, SAME(1, SOL_SOCKET), SAME(2, SO_PEERCRED));
  }
  if (journal) {
    ALLOW(fdatasync);
    ALLOW(fsync);
  }
  if (!failed) failed = seccomp_load(filter);
  seccomp_release(filter);
  return failed == 0;
}

/* ---- All of it ---- */

/* Landlock and seccomp bind the calling thread and those it starts later, not other existing threads. */
static int has_other_threads(void) {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 3; /* `.`, `..` and one thread */
}

/* A worker run by root could raise its own limits. A stage that stores keeps the capabilities that root needs
 * to write to another user's folder. */
static void drop_capabilities(uint32_t capability) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2] = {{0}};
  if (capability == 1 && syscall(SYS_capget, &header, sets) == 0) {
    const uint32_t kept = sets[0].permitted & (1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER);
    memset(sets, 0, sizeof sets);
    sets[0].effective = sets[0].permitted = kept;
  }
  syscall(SYS_capset, &header, sets);
}

static int limit(int resource, rlim_t value) {
  struct rlimit both = {.rlim_cur = value, .rlim_max = value};
  return setrlimit(resource, &both);
}

uint32_t sluice_sandbox_close(uint32_t capability, int folder, int64_t output_limit) {
  uint32_t level = 0;
  if (has_other_threads()) return 0;
  int failed = limit(RLIMIT_CORE, 0);
  if (output_limit >= 0) failed |= limit(RLIMIT_FSIZE, (rlim_t)output_limit);
  else signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f`, writing fails with an error for the stage to report */
  failed |= limit(RLIMIT_NOFILE, 512);
  if (!failed) level |= SLUICE_SANDBOX_LIMITS;
  drop_capabilities(capability);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) level |= SLUICE_SANDBOX_NO_NEW_PRIVILEGES;
  level |= close_files(capability, folder);
  if (close_system_calls(capability, capability == 0 && output_limit < 0)) level |= SLUICE_SANDBOX_SYSCALLS;
  return level;
}

uint32_t sluice_front_close(uint32_t descriptors, int64_t output_limit, int64_t memory, int takes_descriptors) {
  uint32_t level = 0;
  if (has_other_threads()) return 0;
  /* Nothing that root may do is needed, and what it owns is not reached. The parent's signal is forgotten with the user. */
  if (geteuid() == 0) {
    int parent_signal = 0;
    prctl(PR_GET_PDEATHSIG, &parent_signal);
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0) return 0;
    prctl(PR_SET_PDEATHSIG, parent_signal);
  }
  int failed = limit(RLIMIT_CORE, 0);
  failed |= limit(RLIMIT_FSIZE, (rlim_t)output_limit);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit space;
  failed |= getrlimit(RLIMIT_AS, &space);
  failed |= limit(RLIMIT_AS, space.rlim_max < (rlim_t)memory ? space.rlim_max : (rlim_t)memory);
  struct rlimit files;
  failed |= getrlimit(RLIMIT_NOFILE, &files);
  failed |= limit(RLIMIT_NOFILE, files.rlim_max < descriptors ? files.rlim_max : descriptors);
  if (!failed) level |= SLUICE_SANDBOX_LIMITS;
  drop_capabilities(0);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) level |= SLUICE_SANDBOX_NO_NEW_PRIVILEGES;
  level |= close_files(0, -1);
  if (close_system_calls(takes_descriptors ? DOOR : FRONT, 0)) level |= SLUICE_SANDBOX_SYSCALLS;
  return level;
}

uint32_t sluice_sandbox_offered(void) {
  uint32_t level = SLUICE_SANDBOX_NO_NEW_PRIVILEGES | SLUICE_SANDBOX_LIMITS;
  int abi = sluice_landlock_abi();
  if (abi >= 1) level |= SLUICE_SANDBOX_FILES;
  if (abi >= 4) level |= SLUICE_SANDBOX_TCP;
  if (abi >= 6) level |= SLUICE_SANDBOX_SCOPE;
  uint32_t action = SCMP_ACT_TRAP == 0 ? 0 : 0x00030000u; /* SECCOMP_RET_TRAP */
  if (syscall(SYS_seccomp, 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, &action) == 0) level |= SLUICE_SANDBOX_SYSCALLS;
  return level;
}
