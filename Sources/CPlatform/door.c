#define _GNU_SOURCE
#include "door.h"
#include "platform.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

struct answer {
  int32_t error; /* an errno; 0: a descriptor comes along */
  uint8_t number;
};

/* A connection that blocks nobody, or -1 and errno. */
static int connection_to(const struct sockaddr_un *address) {
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  if (connect(made, (const struct sockaddr *)address, sizeof *address) == 0) return made;
  int error = errno;
  close(made);
  errno = error;
  return -1;
}

/* The process behind the door. It was forked and has not replaced itself, so that nothing but system calls is made
 * here. The worker's descriptors are closed: whoever waits for their end is not to wait for this. */
static _Noreturn void serve(int asked, const struct sockaddr_un *address) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL); /* Ctrl-C is for the coordinator to answer */
  prctl(PR_SET_NAME, "sluice-door");
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (asked != 0 && dup2(asked, 0) != 0) _exit(1);
  if (syscall(SYS_close_range, 1u, ~0u, 0u) != 0)
    for (int other = (int)sysconf(_SC_OPEN_MAX) - 1; other > 0; other--) close(other); /* before Linux 5.9 */
  for (;;) {
    uint8_t number;
    if (recv(0, &number, sizeof number, 0) != sizeof number) _exit(0);
    int made = connection_to(address);
    struct answer answer = {.error = made < 0 ? errno : 0, .number = number};
    if (sluice_send(0, &answer, sizeof answer, &made, made < 0 ? 0 : 1, 0) < 0) _exit(0);
    if (made >= 0) close(made);
  }
}

int sluice_door_open(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, path, length);
  int ends[2];
  if (sluice_socketpair(ends) != 0) return -1;
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    if (sluice_die_with(parent) != 0) _exit(0);
    serve(ends[1], &address);
  }
  int error = errno;
  close(ends[1]);
  if (child > 0) return ends[0];
  close(ends[0]);
  errno = error;
  return -1;
}

int sluice_door_ask(int door, uint8_t number) {
  return sluice_send(door, &number, sizeof number, NULL, 0, 1) < 0 ? -1 : 0;
}

int sluice_door_take(int door, uint8_t number, int *connection, int *error) {
  for (;;) {
    struct answer answer;
    int received = -1, count = 1;
    ssize_t size = sluice_receive(door, &answer, sizeof answer, &received, &count, 1);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (size <= 0) return -1;
    if (size == sizeof answer && answer.number == number) {
      *connection = count > 0 ? received : -1;
      *error = count > 0 ? 0 : answer.error;
      return 1;
    }
    if (count > 0) close(received); /* for a question that nobody waits for any more */
  }
}
