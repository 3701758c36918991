/* The process behind the doors of a worker's stages: it connects to the Unix sockets that they named, and
 * passes the connections to the stages. See door.h. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "door.h"

enum { MOST = 64 };

/* The address, and the socket on which requests arrive. */
struct door {
  int asked;
  struct sockaddr_un address;
};

/* A non-blocking connection, or -1 and errno. */
static int connection_to(const struct sockaddr_un *address) {
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  if (connect(made, (const struct sockaddr *)address, sizeof *address) == 0) return made;
  int error = errno;
  close(made);
  errno = error;
  return -1;
}

/* False: the stage has closed its end. */
static int answer(const struct door *door) {
  uint8_t number;
  if (recv(door->asked, &number, sizeof number, 0) != sizeof number) return 0;
  int made = connection_to(&door->address);
  sluice_door_answer answer = {.error = made < 0 ? errno : 0, .number = number};
  int sent = sluice_send(door->asked, &answer, sizeof answer, &made, made < 0 ? 0 : 1, 0) >= 0;
  if (made >= 0) close(made);
  return sent;
}

/* Runs after fork without exec, so it makes only system calls. Descriptor 0 brings new doors, until the
 * worker closes its end. */
static _Noreturn void serve(void) {
  static struct door doors[MOST];
  int count = 0, is_closed = 0;
  while (!is_closed || count > 0) {
    struct pollfd waiting[MOST + 1] = {{.fd = is_closed ? -1 : 0, .events = POLLIN}};
    for (int i = 0; i < count; i++) waiting[i + 1] = (struct pollfd){.fd = doors[i].asked, .events = POLLIN};
    if (poll(waiting, (nfds_t)count + 1, -1) < 0 && errno != EINTR) break;
    for (int i = count; i-- > 0;) {
      if (waiting[i + 1].revents == 0 || answer(&doors[i])) continue;
      close(doors[i].asked);
      doors[i] = doors[--count];
    }
    if (waiting[0].revents == 0) continue;
    struct door door = {.asked = -1, .address = {.sun_family = AF_UNIX}};
    int with = 1;
    ssize_t length = sluice_receive(0, door.address.sun_path, sizeof door.address.sun_path - 1, &door.asked, &with, 1);
    if (length <= 0) is_closed = 1;
    else if (with == 1 && count < MOST) doors[count++] = door;
    else if (with == 1) close(door.asked);
  }
  _exit(0);
}

int sluice_doors_start(void) {
  int ends[2];
  if (sluice_socketpair(ends) != 0) return -1;
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* the coordinator handles Ctrl-C */
    if (sluice_die_with(parent) != 0) _exit(0);
    prctl(PR_SET_NAME, "sluice-door");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (ends[1] != 0 && dup2(ends[1], 0) != 0) _exit(1);
    /* Close the worker's descriptors: a process waiting for their end must not wait for this one. */
    if (syscall(SYS_close_range, 1u, ~0u, 0u) != 0)
      for (int other = (int)sysconf(_SC_OPEN_MAX) - 1; other > 0; other--) close(other); /* before Linux 5.9 */
    serve();
  }
  int error = errno;
  close(ends[1]);
  if (child > 0) return ends[0];
  close(ends[0]);
  errno = error;
  return -1;
}

int sluice_doors_add(int doors, const char *path) {
  struct sockaddr_un address;
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof address.sun_path) {
    errno = length == 0 ? EINVAL : ENAMETOOLONG;
    return -1;
  }
  int ends[2];
  if (sluice_socketpair(ends) != 0) return -1;
  ssize_t sent = sluice_send(doors, path, length, &ends[1], 1, 0);
  int error = errno;
  close(ends[1]);
  if (sent >= 0) return ends[0];
  close(ends[0]);
  errno = error;
  return -1;
}
