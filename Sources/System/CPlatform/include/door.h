/* A door gives a stage inside the sandbox a connection to one Unix socket, and to no other.
 *
 * A worker with capability `network` may not create Unix sockets. With one, content that takes over the
 * worker could talk to any local service, such as a container daemon or systemd, as the user who runs it.
 * Landlock does not restrict Unix sockets up to its ABI 8, and seccomp cannot see paths. So another process
 * connects; the worker starts it before it loads any plugin (`doors.c` of CWorker). That process knows the
 * paths that stages named in `open`, and reads only request bytes from the worker. */
#ifndef SLUICE_DOOR_H
#define SLUICE_DOOR_H

#include <stdint.h>

/* The answer to each byte that a stage writes, as `door` of the contract says. */
typedef struct sluice_door_answer {
  int32_t error; /* an errno; 0: a descriptor comes along */
  uint8_t number;
} sluice_door_answer;

/* Asks for a connection. The answer carries the same number, so that late answers are recognized. 0, or -1
 * and errno. */
int sluice_door_ask(int door, uint8_t number);

/* Takes the next answer, without waiting. 1: it is for the question `*number`, and `*connection` is a non-blocking connection,
 * or -1 with the reason in `*error`. 0: there is none. -1: the process has ended. */
int sluice_door_take(int door, uint8_t *number, int *connection, int *error);

#endif
