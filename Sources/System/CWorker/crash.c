/* Where a worker crashed: for the frames of the crash, the name of the module and the offset in it. The coordinator
 * reads them from the status page, and a tool finds function and line in the plugin's file.
 *
 * The handler runs in a process that is broken. It takes no lock and no memory, makes no system call but to end, and
 * reads two things: the table of modules, which was written before, and the stack. The stack may be damaged. Then the
 * unwinder crashes as well, and since the action of the signal is the default again by then, the process ends by it;
 * the first frame was written before that. */
#define _GNU_SOURCE
#include "worker.h"

#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

/* ---- Modules: the executable, and every library that is loaded ---- */

struct module {
  uintptr_t start, end; /* of a segment that is executable */
  uintptr_t base;
  char name[SLUICE_CRASH_NAME];
};

#define MODULES 512
static struct module modules[MODULES];
static size_t module_count;

static int note_module(struct dl_phdr_info *info, size_t size, void *executable) {
  (void)size;
  const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : executable;
  const char *slash = strrchr(path, '/');
  for (int i = 0; i < info->dlpi_phnum && module_count < MODULES; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    struct module *module = &modules[module_count++];
    module->base = info->dlpi_addr;
    module->start = info->dlpi_addr + segment->p_vaddr;
    module->end = module->start + segment->p_memsz;
    strncpy(module->name, slash ? slash + 1 : path, sizeof module->name - 1);
  }
  return 0;
}

void sluice_note_modules(void) {
  module_count = 0;
  memset(modules, 0, sizeof modules);
  dl_iterate_phdr(note_module, (void *)"sluice-worker");
}

/* ---- Frames ---- */

static sluice_crash *crash;

static void add_frame(uintptr_t address) {
  if (crash->count >= SLUICE_CRASH_FRAMES) return;
  sluice_frame *frame = &crash->frames[crash->count];
  frame->offset = address;
  for (size_t i = 0; i < module_count; i++) {
    if (address < modules[i].start || address >= modules[i].end) continue;
    frame->offset = address - modules[i].base;
    memcpy(frame->module, modules[i].name, sizeof frame->module);
    break;
  }
  __atomic_store_n(&crash->count, crash->count + 1, __ATOMIC_RELEASE);
}

struct walk {
  uintptr_t from; /* frames before this address are the handler's */
  int has_begun;
};

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *argument) {
  struct walk *walk = argument;
  int is_exact = 0; /* the address is that of an instruction, and not of the one after a call */
  uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
  if (address == 0) return _URC_END_OF_STACK;
  if (!walk->has_begun) {
    walk->has_begun = walk->from == 0 || address == walk->from;
    if (walk->from != 0) return _URC_NO_REASON; /* that one is there already */
  }
  add_frame(is_exact ? address : address - 1);
  return crash->count < SLUICE_CRASH_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void sluice_note_frames(const void *context) {
  if (!crash || crash->count > 0) return; /* the first crash is the cause */
  uintptr_t address = 0;
  if (context) {
    const ucontext_t *registers = context;
#if defined(__x86_64__)
    address = (uintptr_t)registers->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    address = (uintptr_t)registers->uc_mcontext.pc;
#endif
    add_frame(address);
  }
  struct walk walk = {.from = address};
  _Unwind_Backtrace(walk_frame, &walk);
}

/* ---- Signals ---- */

__attribute__((unused)) static void crashed(int number, siginfo_t *info, void *context) {
  sluice_note_frames(context);
  /* The instruction that faulted is run again, and the default action ends the process. A signal that was sent, as by
   * abort(3), would not come again. */
  if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
}

void sluice_watch_crashes(sluice_status *status) {
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  static char stack[64 << 10]; /* a stage that recurses without end has used up its own */
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&other, NULL);
  crash = (sluice_crash *)((char *)status + SLUICE_STATUS_CRASH);
  sluice_note_modules();
  /* The unwinder prepares itself at its first use. */
  sluice_note_frames(NULL);
  memset(crash, 0, sizeof *crash);
  struct sigaction action = {
      .sa_sigaction = crashed, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESETHAND)};
  sigemptyset(&action.sa_mask);
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
#else
  (void)status;
#endif
}
