/* Ways into the kernel, and to execute its own code. */
#include "escape.h"

#include <mqueue.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

/* ---- Code ---- */

static sluice_verdict map_code(struct scene *scene) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? denied(scene) : achieved(scene, "a page that is both writable and code");
}
static sluice_verdict map_content_code(struct scene *scene) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, scene->content, 0);
  return page == MAP_FAILED ? denied(scene) : achieved(scene, "the content is code");
}
static sluice_verdict protect_code(struct scene *scene) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return unclear(scene, "%s", strerrorname_np(errno));
  return answered(scene, mprotect(page, 4096, PROT_READ | PROT_EXEC));
}
static sluice_verdict protect_code_key(struct scene *scene) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return unclear(scene, "%s", strerrorname_np(errno));
  return answered(scene, syscall(SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1));
}
/* Makes code writable. */
static sluice_verdict write_code(struct scene *scene) {
  const uintptr_t page = (uintptr_t)map_code & ~(uintptr_t)4095;
  return answered(scene, mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
}

/* ---- Other ways in ---- */

#if defined(__x86_64__)
static sluice_verdict call_x32(struct scene *scene) {
  return read_from(scene, (int)syscall(0x40000000 | SYS_openat, AT_FDCWD, secret(scene).text, O_RDONLY, 0));
}
static sluice_verdict call_32(struct scene *scene) {
  char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) return unclear(scene, "%s", strerrorname_np(errno));
  snprintf(low, 4096, "%s", secret(scene).text);
  long result = 5; /* open(2) of i386 */
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(low), "c"(O_RDONLY), "d"(0) : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) errno = (int)-result;
  return read_from(scene, result < 0 ? -1 : (int)result);
}
static sluice_verdict local_table(struct scene *scene) {
  char room[64];
  return answered(scene, syscall(SYS_modify_ldt, 0, room, sizeof room));
}
static sluice_verdict thread_area(struct scene *scene) {
  unsigned long base;
  return answered(scene, syscall(SYS_arch_prctl, 0x1003 /* ARCH_GET_FS */, &base));
}
static sluice_verdict ports(struct scene *scene) { return answered(scene, syscall(SYS_iopl, 0)); }
#endif
static sluice_verdict unknown_call(struct scene *scene) {
  /* ENOSYS: the call reached the kernel. */
  return syscall(1999) < 0 ? achieved(scene, "the kernel was asked, and says %s", strerrorname_np(errno))
                           : achieved(scene, "the kernel did it");
}
static sluice_verdict bpf_act(struct scene *scene) { return answered(scene, syscall(SYS_bpf, 0, NULL, 0)); }
static sluice_verdict perf(struct scene *scene) {
  return answered(scene, syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}
static sluice_verdict ring(struct scene *scene) { return answered(scene, syscall(425 /* io_uring_setup */, 1, NULL)); }
static sluice_verdict fault(struct scene *scene) {
  return answered(scene, syscall(SYS_userfaultfd, 1 /* of user mode */));
}
static sluice_verdict memory_file(struct scene *scene) { return answered(scene, memfd_create("escape", 0)); }
static sluice_verdict secret_memory(struct scene *scene) { return answered(scene, syscall(447 /* memfd_secret */, 0)); }
static sluice_verdict key_control(struct scene *scene) { return answered(scene, syscall(SYS_keyctl, 0, -4, 0, 0, 0)); }
static sluice_verdict new_key(struct scene *scene) {
  return answered(scene, syscall(SYS_add_key, "user", "sluice", "x", 1, -2));
}
static sluice_verdict push_input(struct scene *scene) { return answered(scene, ioctl(0, TIOCSTI, "x")); }
static sluice_verdict push_input_high(struct scene *scene) {
  return answered(scene, syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, "x"));
}
static sluice_verdict async_input(struct scene *scene) { return answered(scene, ioctl(CONTROL, FIOASYNC, &(int){0})); }

/* ---- Memory shared with others ---- */

static sluice_verdict shared_memory(struct scene *scene) {
  int room = shmget(IPC_PRIVATE, 4096, 0600);
  if (room < 0) return denied(scene);
  shmctl(room, IPC_RMID, NULL);
  return achieved(scene, "shared memory");
}
static sluice_verdict attach_memory(struct scene *scene) {
  return shmat(0, NULL, 0) == (void *)-1 ? answered(scene, -1) : achieved(scene, "attached");
}
static sluice_verdict messages(struct scene *scene) {
  int queue = msgget(IPC_PRIVATE, 0600);
  if (queue < 0) return denied(scene);
  msgctl(queue, IPC_RMID, NULL);
  return achieved(scene, "a queue of messages");
}
static sluice_verdict semaphores(struct scene *scene) {
  int set = semget(IPC_PRIVATE, 1, 0600);
  if (set < 0) return denied(scene);
  semctl(set, 0, IPC_RMID);
  return achieved(scene, "semaphores");
}
static sluice_verdict posix_messages(struct scene *scene) {
  return answered(scene, syscall(SYS_mq_open, "sluice-none", O_RDWR, 0600, NULL));
}

/* ---- The machine ---- */

static sluice_verdict set_clock(struct scene *scene) {
  const struct timespec never = {.tv_nsec = -1}; /* so that nothing changes if the call is allowed */
  return answered(scene, syscall(SYS_clock_settime, CLOCK_REALTIME, &never));
}
static sluice_verdict set_time(struct scene *scene) {
  const struct timeval never = {.tv_usec = -1};
  return answered(scene, syscall(SYS_settimeofday, &never, NULL));
}
static sluice_verdict adjust_clock(struct scene *scene) {
  struct timex nothing = {0};
  return answered(scene, syscall(SYS_adjtimex, &nothing));
}
static sluice_verdict kernel_log(struct scene *scene) {
  return answered(scene, syscall(SYS_syslog, 10 /* its size */, NULL, 0));
}
static sluice_verdict restart(struct scene *scene) { return answered(scene, syscall(SYS_reboot, 0, 0, 0, NULL)); }
static sluice_verdict next_kernel(struct scene *scene) {
  return answered(scene, syscall(SYS_kexec_load, 0, 0, NULL, ~0ul));
}
static sluice_verdict load_module(struct scene *scene) {
  return answered(scene, syscall(SYS_init_module, NULL, 0, ""));
}
static sluice_verdict unload_module(struct scene *scene) {
  return answered(scene, syscall(SYS_delete_module, "sluice-none", O_NONBLOCK));
}
static sluice_verdict host_name(struct scene *scene) { return answered(scene, syscall(SYS_sethostname, NULL, -1)); }

static const struct act kernel_acts[] = {
    {"map-code", map_code}, {"map-content-code", map_content_code}, {"mprotect-code", protect_code},
    {"pkey-mprotect-code", protect_code_key}, {"write-code", write_code}, {"unknown-call", unknown_call},
#if defined(__x86_64__)
    {"x32-call", call_x32}, {"int-0x80", call_32}, {"modify-ldt", local_table}, {"arch-prctl", thread_area},
    {"iopl", ports},
#endif
    {"bpf", bpf_act}, {"perf-event", perf}, {"io-uring", ring}, {"userfaultfd", fault}, {"memfd", memory_file},
    {"memfd-secret", secret_memory}, {"keyctl", key_control}, {"add-key", new_key}, {"tiocsti", push_input},
    {"tiocsti-high", push_input_high}, {"fioasync", async_input}, {"shmget", shared_memory}, {"shmat", attach_memory},
    {"msgget", messages}, {"semget", semaphores}, {"mq-open", posix_messages}, {"clock-settime", set_clock},
    {"settimeofday", set_time}, {"adjtimex", adjust_clock}, {"syslog", kernel_log}, {"reboot", restart},
    {"kexec-load", next_kernel}, {"init-module", load_module}, {"delete-module", unload_module},
    {"sethostname", host_name},
};
