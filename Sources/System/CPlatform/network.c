#include "network.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int sluice_watch_network(void) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (descriptor < 0) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK};
  address.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

int sluice_network_has_changed(int descriptor) {
  /* What has changed is not read: a transfer that is tried tells more. */
  char room[8192];
  int has_changed = 0;
  for (;;) {
    ssize_t count = recv(descriptor, room, sizeof room, MSG_DONTWAIT);
    if (count > 0) {
      has_changed = 1;
      continue;
    }
    /* More came than there was room for (ENOBUFS): something has changed. */
    if (count < 0 && errno == ENOBUFS) {
      has_changed = 1;
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    return has_changed;
  }
}
