/* Ways to communicate with other processes, and descriptors that may have been left open. */
#include "escape.h"

#include <arpa/inet.h>
#include <linux/if_alg.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>

extern char **environ;

/* ---- Addresses of the test's listeners ---- */

static struct sockaddr_in local(int port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}
static socklen_t by_path(const struct scene *scene, const char *name, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  snprintf(address->sun_path, sizeof address->sun_path, "%s/%s", scene->world, name);
  return sizeof *address;
}
static socklen_t by_name(const struct scene *scene, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", scene->abstract);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(scene->abstract));
}
/* Sends the act's name to the listener. */
static sluice_verdict speak(struct scene *scene, int domain, int type, const void *address, socklen_t length) {
  int made = socket(domain, type, 0);
  if (made < 0) return denied(scene);
  if (connect(made, address, length) != 0) return denied(scene);
  if (write(made, scene->act, strlen(scene->act)) < 0) return denied(scene);
  return achieved(scene, "connected");
}
static sluice_verdict speak_unconnected(struct scene *scene, int domain, int type, int flags, const void *to, socklen_t length) {
  int made = socket(domain, type, 0);
  if (made < 0) return denied(scene);
  if (sendto(made, scene->act, strlen(scene->act), flags, to, length) < 0) return denied(scene);
  return achieved(scene, "sent");
}

/* ---- The network ---- */

static sluice_verdict tcp(struct scene *scene) {
  const struct sockaddr_in address = local(scene->tcp);
  return speak(scene, AF_INET, SOCK_STREAM, &address, sizeof address);
}
static sluice_verdict tcp_fast_open(struct scene *scene) {
  const struct sockaddr_in address = local(scene->tcp);
  return speak_unconnected(scene, AF_INET, SOCK_STREAM, MSG_FASTOPEN, &address, sizeof address);
}
static sluice_verdict udp(struct scene *scene) {
  const struct sockaddr_in address = local(scene->udp);
  return speak(scene, AF_INET, SOCK_DGRAM, &address, sizeof address);
}
static sluice_verdict udp_unconnected(struct scene *scene) {
  const struct sockaddr_in address = local(scene->udp);
  return speak_unconnected(scene, AF_INET, SOCK_DGRAM, 0, &address, sizeof address);
}
static sluice_verdict bind_tcp(struct scene *scene) {
  const struct sockaddr_in any = local(0);
  int made = socket(AF_INET, SOCK_STREAM, 0);
  return made < 0 ? denied(scene) : answered(scene, bind(made, (const struct sockaddr *)&any, sizeof any));
}
static sluice_verdict bind_udp(struct scene *scene) {
  const struct sockaddr_in any = local(0);
  int made = socket(AF_INET, SOCK_DGRAM, 0);
  return made < 0 ? denied(scene) : answered(scene, bind(made, (const struct sockaddr *)&any, sizeof any));
}
static sluice_verdict listen_act(struct scene *scene) {
  int made = socket(AF_INET, SOCK_STREAM, 0);
  return made < 0 ? denied(scene) : answered(scene, listen(made, 1));
}
static sluice_verdict raw(struct scene *scene) { return answered(scene, socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)); }
static sluice_verdict packet(struct scene *scene) { return answered(scene, socket(AF_PACKET, SOCK_RAW, 0)); }
static sluice_verdict vsock(struct scene *scene) { return answered(scene, socket(AF_VSOCK, SOCK_STREAM, 0)); }
static sluice_verdict algorithms(struct scene *scene) { return answered(scene, socket(AF_ALG, SOCK_SEQPACKET, 0)); }

/* ---- netlink ---- */

static sluice_verdict events(struct scene *scene) {
  return answered(scene, socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT));
}
/* Every socket of the machine, with its owner. */
static sluice_verdict diagnose(struct scene *scene) {
  return answered(scene, socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG));
}
/* Changes a device that does not exist, so that nothing changes if the call is allowed. */
static sluice_verdict change_network(struct scene *scene) {
  int made = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (made < 0) return denied(scene);
  struct {
    struct nlmsghdr head;
    struct ifinfomsg device;
  } request = {
      {.nlmsg_len = sizeof request, .nlmsg_type = RTM_SETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
      {.ifi_index = 0x7FFFFFF0}};
  const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  struct {
    struct nlmsghdr head;
    struct nlmsgerr error;
  } reply;
  if (sendto(made, &request, sizeof request, 0, (const struct sockaddr *)&kernel, sizeof kernel) < 0) return denied(scene);
  if (recv(made, &reply, sizeof reply, 0) < (ssize_t)sizeof reply.head) return unclear(scene, "no reply");
  errno = -reply.error.error;
  return errno == 0 ? achieved(scene, "changed") : answered(scene, -1);
}

/* ---- Sockets of this machine ---- */

static sluice_verdict unix_stream(struct scene *scene) {
  struct sockaddr_un address;
  const socklen_t length = by_path(scene, "stream", &address);
  return speak(scene, AF_UNIX, SOCK_STREAM, &address, length);
}
static sluice_verdict unix_datagram(struct scene *scene) {
  struct sockaddr_un address;
  const socklen_t length = by_path(scene, "datagram", &address);
  return speak_unconnected(scene, AF_UNIX, SOCK_DGRAM, 0, &address, length);
}
static sluice_verdict unix_abstract(struct scene *scene) {
  struct sockaddr_un address;
  const socklen_t length = by_name(scene, &address);
  return speak(scene, AF_UNIX, SOCK_STREAM, &address, length);
}
/* A connected pair, reconnected to another address. */
static sluice_verdict pair(struct scene *scene, int type, const char *name) {
  int ends[2];
  struct sockaddr_un address;
  const socklen_t length = by_path(scene, name, &address);
  if (socketpair(AF_UNIX, type, 0, ends) != 0) return denied(scene);
  if (sendto(ends[0], scene->act, strlen(scene->act), 0, (struct sockaddr *)&address, length) >= 0 && type != SOCK_STREAM)
    return achieved(scene, "sent past the pair");
  close(ends[1]);
  if (connect(ends[0], (struct sockaddr *)&address, length) == 0) {
    if (write(ends[0], scene->act, strlen(scene->act)) < 0) return unclear(scene, "%s", strerrorname_np(errno));
    return achieved(scene, "connected");
  }
  return errno == EISCONN || errno == EINVAL ? refused(scene, "%s", strerrorname_np(errno)) : denied(scene);
}
static sluice_verdict stream_pair(struct scene *scene) { return pair(scene, SOCK_STREAM, "stream"); }
static sluice_verdict datagram_pair(struct scene *scene) { return pair(scene, SOCK_DGRAM, "datagram"); }
static sluice_verdict packet_pair(struct scene *scene) { return pair(scene, SOCK_SEQPACKET, "packet"); }
/* The open socket, reconnected to another address. */
static sluice_verdict reconnect(struct scene *scene) {
  struct sockaddr_un address;
  const socklen_t length = by_path(scene, "packet", &address);
  if (connect(CONTROL, (struct sockaddr *)&address, length) == 0) return achieved(scene, "connected");
  return errno == EISCONN || errno == EINVAL ? refused(scene, "%s", strerrorname_np(errno)) : denied(scene);
}

/* ---- The control socket ---- */

static sluice_verdict send_at(struct scene *scene, int fd, int sent) {
  char text[] = "take this";
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {{0}};
  struct iovec part = {.iov_base = text, .iov_len = sizeof text};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (sent >= 0) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &sent, sizeof(int));
  }
  return answered(scene, sendmsg(fd, &message, MSG_NOSIGNAL));
}
static sluice_verdict pass_descriptor(struct scene *scene) {
  sluice_verdict verdict = send_at(scene, CONTROL, scene->content);
  for (;;) pause(); /* until the coordinator has reacted */
  return verdict;
}
/* Another socket than the one it may use, even if it leads to the same place. */
static sluice_verdict send_elsewhere(struct scene *scene) {
  int other = dup(CONTROL);
  return other < 0 ? unclear(scene, "%s", strerrorname_np(errno)) : send_at(scene, other, -1);
}
static sluice_verdict receive_elsewhere(struct scene *scene) {
  int other = dup(CONTROL);
  char room[16];
  struct iovec part = {.iov_base = room, .iov_len = sizeof room};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (other < 0) return unclear(scene, "%s", strerrorname_np(errno));
  return answered(scene, recvmsg(other, &message, MSG_DONTWAIT));
}
static sluice_verdict send_many(struct scene *scene) {
  struct mmsghdr none;
  return answered(scene, syscall(SYS_sendmmsg, CONTROL, &none, 0, 0));
}
static sluice_verdict shut_down(struct scene *scene) { return answered(scene, shutdown(CONTROL, SHUT_RDWR)); }

/* ---- Descriptors left open ---- */

/* Descriptors beyond those of the contract, and the content of the first of them. */
static sluice_verdict descriptors(struct scene *scene) {
  char found[400] = "", text[64] = {0};
  int count = 0;
  for (int fd = 0; fd < 1024; fd++) {
    if (fcntl(fd, F_GETFD) < 0 || fd <= CONTROL || fd == scene->content) continue;
    if (fd == FOLDER && scene->has_folder) continue;
    if (count++ == 0 && pread(fd, text, sizeof text - 1, 0) < 0) text[0] = 0;
    snprintf(found + strlen(found), sizeof found - strlen(found), " %d", fd);
  }
  if (count == 0) return refused(scene, "none");
  text[strcspn(text, "\n")] = 0;
  return achieved(scene, "%d:%s (%s)", count, found, text);
}
static sluice_verdict environment(struct scene *scene) {
  for (char **entry = environ; entry && *entry; entry++)
    if (strncmp(*entry, "SWIFT_BACKTRACE=", 16) != 0 && strncmp(*entry, "LANG=", 5) != 0 && strncmp(*entry, "TZ=", 3) != 0)
      return achieved(scene, "%s", *entry);
  return refused(scene, "nothing else");
}
static sluice_verdict standard_output(struct scene *scene) {
  char text[100];
  int count = snprintf(text, sizeof text, "said by %s\n", scene->act);
  if (write(1, text, (size_t)count) < 0 || write(0, text, (size_t)count) < 0) return denied(scene);
  return refused(scene, "written; whoever reads it is to tell");
}
static sluice_verdict standard_input(struct scene *scene) {
  char text[100] = {0};
  ssize_t count = read(0, text, sizeof text - 1);
  if (count > 0) return achieved(scene, "read %s", text);
  return refused(scene, "nothing");
}
/* Waits, so that a test can inspect the worker from outside. */
static sluice_verdict wait_act(struct scene *scene) {
  nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
  return refused(scene, "waited");
}
static sluice_verdict pass(struct scene *scene) { return refused(scene, "nothing was tried"); }

static const struct act socket_acts[] = {
    {"tcp", tcp}, {"tcp-fast-open", tcp_fast_open}, {"udp", udp}, {"udp-unconnected", udp_unconnected},
    {"bind-tcp", bind_tcp}, {"bind-udp", bind_udp}, {"listen", listen_act}, {"raw-socket", raw},
    {"packet-socket", packet},
    {"vsock", vsock}, {"alg-socket", algorithms}, {"netlink-uevent", events}, {"netlink-diag", diagnose},
    {"netlink-change", change_network}, {"unix-stream", unix_stream}, {"unix-datagram", unix_datagram},
    {"unix-abstract", unix_abstract}, {"stream-pair", stream_pair}, {"datagram-pair", datagram_pair},
    {"packet-pair", packet_pair}, {"reconnect", reconnect}, {"pass-descriptor", pass_descriptor},
    {"send-elsewhere", send_elsewhere}, {"receive-elsewhere", receive_elsewhere}, {"sendmmsg", send_many},
    {"shutdown", shut_down}, {"descriptors", descriptors}, {"environment", environment},
    {"standard-output", standard_output}, {"standard-input", standard_input}, {"wait", wait_act}, {"pass", pass},
};
