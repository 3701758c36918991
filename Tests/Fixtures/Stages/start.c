/* A plugin that starts another process in the way that WAY selects, while it is loaded (IN_CONSTRUCTOR) or
 * opened (IN_OPEN). The new process leaves its session and its parent, and writes to the file WITNESS as long
 * as it lives. Without WAY the plugin does nothing. */
#define _GNU_SOURCE
#include <sluice/stage.h>

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FORK 1
#define VFORK 2
#define CLONE 3
#define CLONE_TO_PARENT 4
#define CLONE3 5
#define SPAWN 6
#define SYSTEM 7
#define EXEC 8
#define ALLOCATE 9
#define SEGV 10
#define LEAVE 11

#ifndef WAY
#define WAY 0
#endif
#ifndef WITNESS
#define WITNESS "/dev/null"
#endif

extern char **environ;

static _Noreturn void live(void) {
  setsid();
  for (int i = 0; i < 200; i++) {
    int file = open(WITNESS, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(file, "alive\n", 6) < 0) _exit(1);
    close(file);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  _exit(0);
}

__attribute__((unused)) static void start(void) {
  char *const words[] = {"sh", "-c", "setsid sh -c 'for i in $(seq 200); do echo alive >> " WITNESS "; sleep 0.02; done' &", NULL};
  pid_t child = -1;
  switch (WAY) {
    case FORK:
      child = fork();
      if (child == 0 && fork() == 0) live();
      if (child == 0) _exit(0);
      break;
    case VFORK:
      child = vfork();
      if (child == 0) {
        execve("/bin/sh", words, environ);
        _exit(1);
      }
      break;
    case CLONE: child = (pid_t)syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0); break;
    case CLONE_TO_PARENT: child = (pid_t)syscall(SYS_clone, CLONE_PARENT | 17, 0, 0, 0, 0); break;
    case CLONE3: {
      struct clone_args arguments = {.exit_signal = 17};
      child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
      break;
    }
    case SPAWN: posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ); break;
    case SYSTEM: if (system(words[2]) < 0) return; break;
    case EXEC: execve("/bin/sh", words, environ); break;
    case ALLOCATE:
      for (int i = 0; i < 64; i++) {
        volatile char *memory = malloc(64 << 20); /* volatile: the compiler would drop unread memory */
        for (int at = 0; memory && at < 64 << 20; at += 4096) memory[at] = 1;
      }
      break;
    case SEGV: *(volatile int *)0 = 1; break;
    case LEAVE: _exit(0);
    default: break;
  }
  if (child == 0) live();
  if (child > 0) waitpid(child, NULL, __WALL);
}

#ifdef IN_CONSTRUCTOR
__attribute__((constructor)) static void begin(void) { start(); }
#endif

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  (void)opening;
  *instance = (void *)open_stage;
#ifdef IN_OPEN
  start();
#endif
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  (void)attachment;
  (void)call;
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR, .id = "start",
    .version = "1.0.0", .summary = "Starts a process.", .open = open_stage, .process = process, .close = close_stage};

const sluice_stage *start_stage(uint32_t host_major);
const sluice_stage *start_stage(uint32_t host_major) {
  (void)host_major;
  return &stage;
}
