#define _GNU_SOURCE
#include <sys/socket.h>

#include "platform.h"

int64_t sluice_peer_user(int fd) {
  struct ucred credentials;
  socklen_t length = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
  return (int64_t)credentials.uid;
}
