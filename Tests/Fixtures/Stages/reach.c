/* A plugin whose constructor reaches for what no plugin may have, in the way that WAY selects. It leaves what it reached in its
 * summary: "reached", or "held" and the errno. */
#define _GNU_SOURCE
#include <sluice/stage.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef WAY
#define WAY ""
#endif
#ifndef TARGET
#define TARGET "/nonexistent"
#endif

static char summary[64] = "held";

static int connected(int family, const void *address, socklen_t length) {
  int made = socket(family, SOCK_STREAM, 0);
  if (made < 0) return -1;
  int result = connect(made, address, length);
  close(made);
  return result;
}

static int reach(void) {
  const char *way = WAY;
  int file = -1;
  if (strcmp(way, "write") == 0) return (file = open(TARGET, O_WRONLY | O_CREAT | O_APPEND, 0600)) >= 0 && write(file, "x", 1) == 1 ? 0 : -1;
  if (strcmp(way, "read") == 0) return open(TARGET, O_RDONLY);
  if (strcmp(way, "list") == 0) return open(TARGET, O_RDONLY | O_DIRECTORY);
  if (strcmp(way, "unlink") == 0) return unlink(TARGET);
  if (strcmp(way, "rename") == 0) return rename(TARGET, TARGET ".moved");
  if (strcmp(way, "make-folder") == 0) return mkdir(TARGET, 0700);
  if (strcmp(way, "chmod") == 0) return chmod(TARGET, 0777);
  if (strcmp(way, "truncate") == 0) return truncate(TARGET, 0);
  if (strcmp(way, "link") == 0) return link(TARGET, TARGET ".link");
  if (strcmp(way, "signal") == 0) return kill(getppid(), SIGCONT);
  if (strcmp(way, "trace") == 0) return (int)ptrace(PTRACE_SEIZE, getppid(), 0, 0);
  if (strcmp(way, "memory") == 0) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return process_vm_readv(getppid(), &here, 1, &there, 1, 0) < 0 && errno == EPERM ? -1 : 0;
  }
  if (strcmp(way, "shared-memory") == 0) return shmget(4711, 4096, IPC_CREAT | 0600);
  if (strcmp(way, "tcp") == 0) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(TARGET)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return connected(AF_INET, &address, sizeof address);
  }
  if (strcmp(way, "unix") == 0) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, TARGET, sizeof address.sun_path - 1);
    return connected(AF_UNIX, &address, sizeof address);
  }
  return -1;
}

__attribute__((constructor)) static void begin(void) {
  if (reach() >= 0) strcpy(summary, "reached");
  else snprintf(summary, sizeof summary, "held: %s", strerror(errno));
}

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  (void)opening;
  *instance = summary;
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
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR, .id = "reach",
    .version = "1.0.0", .summary = summary, .open = open_stage, .process = process, .close = close_stage};

const sluice_stage *reach_stage(uint32_t host_major);
const sluice_stage *reach_stage(uint32_t host_major) {
  (void)host_major;
  return &stage;
}

/* For a program that loads the library without a sandbox. */
const char *reach_summary(void);
const char *reach_summary(void) { return summary; }
