#define _GNU_SOURCE
#include "door.h"
#include "platform.h"

#include <errno.h>
#include <unistd.h>

int sluice_door_ask(int door, uint8_t number) {
  return sluice_send(door, &number, sizeof number, NULL, 0, 1) < 0 ? -1 : 0;
}

int sluice_door_take(int door, uint8_t *number, int *connection, int *error) {
  for (;;) {
    sluice_door_answer answer;
    int received = -1, count = 1;
    ssize_t size = sluice_receive(door, &answer, sizeof answer, &received, &count, 1);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (size <= 0) return -1;
    if (size == sizeof answer) {
      *number = answer.number;
      *connection = count > 0 ? received : -1;
      *error = count > 0 ? 0 : answer.error;
      return 1;
    }
    if (count > 0) close(received);
  }
}
