/* Ways to reach other processes, to start processes, and to gain rights. */
#include "escape.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>

/* ---- More processes ---- */

/* What a new process does, so that a test can find it. */
static sluice_verdict beget(struct scene *scene, long child) {
  if (child < 0) return denied(scene);
  if (child == 0) {
    syscall(SYS_openat, AT_FDCWD, novelty(scene).text, O_RDWR | O_CREAT, 0600);
    syscall(SYS_exit_group, 0);
  }
  return achieved(scene, "process %ld", child); /* not waited for: that call is forbidden, too */
}
static sluice_verdict fork_act(struct scene *scene) { return beget(scene, syscall(SYS_fork)); }
static sluice_verdict clone_act(struct scene *scene) { return beget(scene, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }
static sluice_verdict clone3_act(struct scene *scene) {
  uint64_t arguments[8] = {[4] = SIGCHLD};
  return beget(scene, syscall(435, arguments, sizeof arguments));
}
static sluice_verdict vfork_act(struct scene *scene) {
  pid_t child = vfork();
  if (child == 0) _exit(0);
  return child < 0 ? denied(scene) : achieved(scene, "process %d", child);
}
/* A new process with all flags of a thread except CLONE_THREAD. */
static sluice_verdict clone_memory(struct scene *scene) {
  return beget(scene, syscall(SYS_clone, CLONE_FILES | CLONE_FS | SIGCHLD, 0, 0, 0, 0));
}
static void *idle(void *nothing) { return nothing; }
static sluice_verdict thread_act(struct scene *scene) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, idle, NULL);
  if (error) return refused(scene, "%s", strerrorname_np(error));
  pthread_join(thread, NULL);
  return achieved(scene, "a thread ran");
}
static sluice_verdict exec_act(struct scene *scene) {
  char command[800];
  snprintf(command, sizeof command, "echo made > %s", novelty(scene).text);
  char *const words[] = {"sh", "-c", command, NULL};
  return answered(scene, syscall(SYS_execve, "/bin/sh", words, NULL));
}
static sluice_verdict execveat_act(struct scene *scene) {
  char command[800];
  snprintf(command, sizeof command, "echo made > %s", novelty(scene).text);
  char *const words[] = {"sh", "-c", command, NULL};
  return answered(scene, syscall(SYS_execveat, AT_FDCWD, "/bin/sh", words, NULL, 0));
}
static sluice_verdict exec_memfd(struct scene *scene) {
  int program = memfd_create("program", 0);
  if (program < 0) return denied(scene);
  char script[800];
  int count = snprintf(script, sizeof script, "#!/bin/sh\necho made > %s\n", novelty(scene).text);
  if (write(program, script, (size_t)count) != count) return denied(scene);
  char *const words[] = {"program", NULL};
  return answered(scene, syscall(SYS_execveat, program, "", words, NULL, AT_EMPTY_PATH));
}
static sluice_verdict namespaces(struct scene *scene) { return answered(scene, unshare(CLONE_NEWUSER | CLONE_NEWNS)); }
static sluice_verdict join_namespace(struct scene *scene) { return answered(scene, setns(scene->content, 0)); }

/* ---- Signals ---- */

static sluice_verdict kill_act(struct scene *scene) { return answered(scene, kill(scene->canary, scene->signal)); }
static sluice_verdict tkill_act(struct scene *scene) {
  return answered(scene, syscall(SYS_tkill, scene->canary, scene->signal));
}
static sluice_verdict tgkill_act(struct scene *scene) {
  return answered(scene, syscall(SYS_tgkill, scene->canary, scene->canary, scene->signal));
}
/* The canary leads its own process group. */
static sluice_verdict kill_group(struct scene *scene) { return answered(scene, kill(-scene->canary, scene->signal)); }
static sluice_verdict queue_signal(struct scene *scene) {
  siginfo_t info = {.si_signo = scene->signal, .si_code = SI_QUEUE};
  return answered(scene, syscall(SYS_rt_sigqueueinfo, scene->canary, scene->signal, &info));
}
static sluice_verdict queue_thread_signal(struct scene *scene) {
  siginfo_t info = {.si_signo = scene->signal, .si_code = SI_QUEUE};
  return answered(scene, syscall(SYS_rt_tgsigqueueinfo, scene->canary, scene->canary, scene->signal, &info));
}
static sluice_verdict pidfd_signal(struct scene *scene) {
  int handle = (int)syscall(SYS_pidfd_open, scene->canary, 0);
  if (handle < 0) return denied(scene);
  return answered(scene, syscall(SYS_pidfd_send_signal, handle, scene->signal, NULL, 0));
}
/* A folder of /proc refers to its process, and opens without read permission. */
static sluice_verdict proc_signal(struct scene *scene) {
  int handle = openat(AT_FDCWD, path("/proc/%d", scene->canary).text, O_RDONLY | O_DIRECTORY);
  if (handle < 0) return denied(scene);
  return answered(scene, syscall(SYS_pidfd_send_signal, handle, scene->signal, NULL, 0));
}
/* A descriptor that signals another process when there is something to read. */
static sluice_verdict owner_signal(struct scene *scene) {
  return answered(scene, fcntl(CONTROL, F_SETOWN, scene->canary));
}
static sluice_verdict parent_signal(struct scene *scene) { return answered(scene, kill(scene->parent, 0)); }

/* ---- Another process's memory and descriptors ---- */

static sluice_verdict trace(struct scene *scene) {
  if (ptrace(PTRACE_ATTACH, scene->canary, NULL, NULL) != 0) return denied(scene);
  waitpid(scene->canary, NULL, __WALL);
  long word = ptrace(PTRACE_PEEKDATA, scene->canary, scene->buffer, NULL);
  long changed = (word & ~0xFFL) | 'X';
  ptrace(PTRACE_POKEDATA, scene->canary, scene->buffer, (void *)changed);
  ptrace(PTRACE_DETACH, scene->canary, NULL, NULL);
  return achieved(scene, "traced");
}
static sluice_verdict trace_me(struct scene *scene) { return answered(scene, ptrace(PTRACE_TRACEME, 0, NULL, NULL)); }
static sluice_verdict read_memory(struct scene *scene) {
  char text[8] = {0};
  struct iovec here = {text, 1}, there = {scene->buffer, 1};
  return answered(scene, process_vm_readv(scene->canary, &here, 1, &there, 1, 0));
}
static sluice_verdict write_memory(struct scene *scene) {
  struct iovec here = {"X", 1}, there = {scene->buffer, 1};
  return answered(scene, process_vm_writev(scene->canary, &here, 1, &there, 1, 0));
}
static sluice_verdict take_descriptor(struct scene *scene) {
  int handle = (int)syscall(SYS_pidfd_open, scene->canary, 0);
  if (handle < 0) return denied(scene);
  return read_from(scene, (int)syscall(438 /* pidfd_getfd */, handle, 8, 0));
}
static sluice_verdict compare(struct scene *scene) {
  return answered(scene, syscall(SYS_kcmp, scene->canary, getpid(), 1, 0, 0));
}
static sluice_verdict limit_other(struct scene *scene) {
  const struct rlimit few = {64, 64};
  return answered(scene, prlimit(scene->canary, RLIMIT_NOFILE, &few, NULL));
}

/* ---- Standing among processes ---- */

static sluice_verdict priority(struct scene *scene) { return answered(scene, setpriority(PRIO_PROCESS, 0, 1)); }
static sluice_verdict schedule(struct scene *scene) {
  const struct sched_param none = {0};
  return answered(scene, syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &none));
}
static sluice_verdict schedule_fully(struct scene *scene) {
  return answered(scene, syscall(SYS_sched_setattr, 0, NULL, 0));
}
static sluice_verdict disk_priority(struct scene *scene) {
  return answered(scene, syscall(SYS_ioprio_set, 1, 0, 3 << 13));
}
static sluice_verdict processors(struct scene *scene) {
  cpu_set_t all;
  memset(&all, 0xFF, sizeof all);
  return answered(scene, syscall(SYS_sched_setaffinity, 0, sizeof all, &all));
}
static sluice_verdict group(struct scene *scene) { return answered(scene, setpgid(0, 0)); }

/* ---- Rights and limits of its own ---- */

static sluice_verdict become_root(struct scene *scene) { return answered(scene, syscall(SYS_setuid, 0)); }
static sluice_verdict become_group(struct scene *scene) { return answered(scene, syscall(SYS_setgid, 0)); }
static sluice_verdict become_all(struct scene *scene) { return answered(scene, syscall(SYS_setresuid, 0, 0, 0)); }
static sluice_verdict join_groups(struct scene *scene) {
  const gid_t root = 0;
  return answered(scene, syscall(SYS_setgroups, 1, &root));
}
static sluice_verdict capabilities(struct scene *scene) {
  struct {
    uint32_t version;
    int pid;
  } header = {0x20080522, 0};
  uint32_t sets[6] = {0};
  return answered(scene, syscall(SYS_capset, &header, sets));
}
/* Raises a limit, then allocates beyond the old one. */
static sluice_verdict raise_memory(struct scene *scene) {
  const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &all) != 0) return denied(scene);
  void *room = mmap(NULL, (size_t)8 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return room == MAP_FAILED ? denied(scene) : achieved(scene, "8 GB more");
}
static sluice_verdict raise_output(struct scene *scene) {
  const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  return answered(scene, setrlimit(RLIMIT_FSIZE, &all));
}
static sluice_verdict allow_core(struct scene *scene) {
  const struct rlimit some = {4096, 4096};
  return answered(scene, setrlimit(RLIMIT_CORE, &some));
}
static sluice_verdict be_dumpable(struct scene *scene) { return answered(scene, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }
static sluice_verdict regain_privileges(struct scene *scene) {
  return answered(scene, prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}
static sluice_verdict outlive(struct scene *scene) { return answered(scene, prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)); }
static sluice_verdict be_traced(struct scene *scene) { return answered(scene, prctl(PR_SET_PTRACER, -1L, 0, 0, 0)); }
static sluice_verdict loosen(struct scene *scene) {
  return answered(scene, prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT - 1, 0, 0, 0));
}
static sluice_verdict filter(struct scene *scene) { return answered(scene, syscall(SYS_seccomp, 99, 0, NULL)); }
static sluice_verdict personality_act(struct scene *scene) {
  return answered(scene, syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */));
}

/* ---- The trap of the filter ---- */

static volatile sig_atomic_t swallowed;
static void swallow(int number) {
  (void)number;
  swallowed = 1;
}
/* Continues after a forbidden call, with a handler that hides it. */
static sluice_verdict go_on(struct scene *scene, unsigned long number) {
  const struct {
    void (*handler)(int);
    unsigned long flags;
    void *restorer;
    uint64_t mask;
  } action = {swallow, 0x40000000 /* SA_NODEFER */, NULL, 0};
  if (syscall(SYS_rt_sigaction, number, &action, NULL, 8) != 0) return denied(scene);
  return achieved(scene, "a handler of its own is set");
}
static sluice_verdict swallow_trap(struct scene *scene) { return go_on(scene, SIGSYS); }
/* The kernel uses the lower half of the number only. */
static sluice_verdict swallow_trap_high(struct scene *scene) { return go_on(scene, 0x100000000ul | SIGSYS); }

static const struct act process_acts[] = {
    {"fork", fork_act}, {"vfork", vfork_act}, {"clone", clone_act}, {"clone3", clone3_act},
    {"clone-memory", clone_memory},
    {"thread", thread_act}, {"exec", exec_act}, {"execveat", execveat_act}, {"exec-memfd", exec_memfd},
    {"unshare", namespaces}, {"setns", join_namespace}, {"kill", kill_act}, {"tkill", tkill_act},
    {"tgkill", tgkill_act},
    {"kill-group", kill_group}, {"sigqueue", queue_signal}, {"tgsigqueue", queue_thread_signal},
    {"pidfd-signal", pidfd_signal}, {"proc-signal", proc_signal}, {"owner-signal", owner_signal},
    {"parent-signal", parent_signal}, {"ptrace", trace}, {"ptrace-traceme", trace_me}, {"vm-read", read_memory},
    {"vm-write", write_memory}, {"pidfd-getfd", take_descriptor}, {"kcmp", compare}, {"prlimit-other", limit_other},
    {"setpriority", priority}, {"sched-setscheduler", schedule}, {"sched-setattr", schedule_fully},
    {"ioprio-set", disk_priority}, {"sched-setaffinity", processors}, {"setpgid", group},
    {"setuid", become_root}, {"setgid", become_group}, {"setresuid", become_all}, {"setgroups", join_groups},
    {"capset", capabilities}, {"raise-memory", raise_memory}, {"raise-output", raise_output},
    {"allow-core", allow_core},
    {"prctl-dumpable", be_dumpable}, {"prctl-privileges", regain_privileges}, {"prctl-death-signal", outlive},
    {"prctl-tracer", be_traced}, {"prctl-seccomp", loosen}, {"seccomp", filter}, {"personality", personality_act},
    {"swallow-trap", swallow_trap}, {"swallow-trap-high", swallow_trap_high},
};
