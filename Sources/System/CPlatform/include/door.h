/* A door: the way from inside the sandbox to one Unix socket, and to no other.
 *
 * A worker with capability `network` may not make Unix sockets: with one, content that takes it over could speak to
 * whatever listens on this machine, to a container daemon or to systemd, as the user who runs it. Landlock does not
 * look at them up to its ABI 8, and seccomp sees no path. So another process connects, which the worker starts before it
 * loads any plugin (`doors.c` of CWorker). It knows the paths that stages named in `open`, and reads nothing from the worker
 * but the bytes that ask. */
#ifndef SLUICE_DOOR_H
#define SLUICE_DOOR_H

#include <stdint.h>

/* What a stage gets for each byte it writes, as `door` of the contract says. */
typedef struct sluice_door_answer {
  int32_t error; /* an errno; 0: a descriptor comes along */
  uint8_t number;
} sluice_door_answer;

/* Asks for a connection. The number comes back with it, so that what comes late is told apart. 0, or -1 and errno. */
int sluice_door_ask(int door, uint8_t number);

/* Takes what has come, without waiting: 1 with `*connection`, which is not blocking, or with -1 there and the reason in
 * `*error`; 0: nothing has come for this number; -1: the process has ended. */
int sluice_door_take(int door, uint8_t number, int *connection, int *error);

#endif
