/* Ways to misuse what the process that serves HTTP is handed: sockets that listen, which the coordinator has as well, and files of
 * uploads. */
#include "../Stages/escape.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

static int listener, output;

static int listening(void) {
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (made < 0 || bind(made, (const struct sockaddr *)&any, sizeof any) != 0 || listen(made, 1) != 0) return -1;
  return made;
}

static struct sockaddr_in test_listener(const struct scene *scene) {
  return (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)scene->tcp),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}
/* A socket that listened and was shut down can connect, and with MSG_FASTOPEN it does so without connect(2). */
static sluice_verdict connect_by_listener(struct scene *scene) {
  const struct sockaddr_in address = test_listener(scene);
  if (shutdown(listener, SHUT_RDWR) != 0) return denied(scene);
  if (sendto(listener, scene->act, strlen(scene->act), MSG_FASTOPEN, (const struct sockaddr *)&address, sizeof address) < 0) {
    if (errno != EINPROGRESS) return denied(scene);
    usleep(50000); /* nothing goes with the first packet, so that it has to be connected */
    if (write(listener, scene->act, strlen(scene->act)) < 0) return denied(scene);
  }
  return achieved(scene, "connected");
}
static sluice_verdict send_to_address(struct scene *scene) {
  const struct sockaddr_in address = test_listener(scene);
  return answered(scene, sendto(listener, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&address, sizeof address));
}
/* It would stay so for the next process, which gets the same socket. */
static sluice_verdict shut_listener(struct scene *scene) { return answered(scene, shutdown(listener, SHUT_RDWR)); }
static sluice_verdict listen_again(struct scene *scene) { return answered(scene, listen(listener, 0)); }
static sluice_verdict connect_listener(struct scene *scene) {
  const struct sockaddr_in address = test_listener(scene);
  return answered(scene, connect(listener, (const struct sockaddr *)&address, sizeof address));
}
/* Drops all that comes, and cannot be taken away. */
static sluice_verdict filter_listener(struct scene *scene) {
  struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const struct sock_fprog program = {1, &drop};
  return answered(scene, setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
}
static sluice_verdict set_option(struct scene *scene, int level, int option) {
  const int on = 1;
  return answered(scene, setsockopt(listener, level, option, &on, sizeof on));
}
static sluice_verdict change_priority(struct scene *scene) { return set_option(scene, SOL_SOCKET, SO_PRIORITY); }
static sluice_verdict repair(struct scene *scene) { return set_option(scene, IPPROTO_TCP, TCP_REPAIR); }
static sluice_verdict attach_protocol(struct scene *scene) {
  return answered(scene, setsockopt(listener, IPPROTO_TCP, TCP_ULP, "tls", 4));
}
/* More than an upload may have. */
static sluice_verdict write_beyond(struct scene *scene) {
  signal(SIGXFSZ, SIG_IGN);
  if (pwrite(output, "x", 1, 1 << 20) == 1) return achieved(scene, "wrote");
  return errno == EFBIG ? refused(scene, "EFBIG") : denied(scene);
}
static sluice_verdict cut_beyond(struct scene *scene) {
  if (ftruncate(output, 2 << 20) == 0) return achieved(scene, "made it longer");
  return errno == EFBIG ? refused(scene, "EFBIG") : denied(scene);
}
static sluice_verdict seal_upload(struct scene *scene) { return answered(scene, fcntl(output, F_ADD_SEALS, F_SEAL_WRITE)); }
static sluice_verdict own_signal(struct scene *scene) { return answered(scene, fcntl(listener, F_SETOWN, scene->canary)); }
static sluice_verdict accept_plain(struct scene *scene) { return answered(scene, syscall(SYS_accept, listener, NULL, NULL)); }

static const struct act listener_acts[] = {
    {"listener-connect-out", connect_by_listener}, {"listener-send-to", send_to_address}, {"listener-shutdown", shut_listener},
    {"listener-listen", listen_again}, {"listener-connect", connect_listener}, {"listener-filter", filter_listener},
    {"listener-option", change_priority}, {"listener-repair", repair}, {"listener-protocol", attach_protocol},
    {"listener-owner", own_signal}, {"listener-accept", accept_plain}, {"upload-beyond", write_beyond},
    {"upload-longer", cut_beyond}, {"upload-seal", seal_upload},
};
