/* A stage with capability `network` that tries to reach the Unix socket its content names, in several ways.
 * It passes if none of them succeeds. */
#include <sluice/stage.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const sluice_host *host;

static sluice_verdict unix_socket_open(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  (void)instance;
  host = opening->host;
  return SLUICE_PASS;
}

static sluice_verdict reached(sluice_call *call, const char *how) {
  host->explain(call, "reached", how);
  return SLUICE_FAIL;
}

static sluice_verdict unix_socket_process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  ssize_t count = pread(attachment->content, address.sun_path, sizeof address.sun_path - 1, 0);
  if (count <= 0) return SLUICE_FAIL;
  const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (socket(AF_UNIX, types[i], 0) >= 0 || errno != EAFNOSUPPORT) return reached(call, "a socket was made");
  /* The pair that a resolver may need is connected already; neither end may be reconnected. */
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return reached(call, "there was no pair to try");
  struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
  if (connect(ends[0], (struct sockaddr *)&address, sizeof address) == 0) return reached(call, "a pair was connected");
  connect(ends[0], &nowhere, sizeof nowhere);
  close(ends[1]);
  if (connect(ends[0], (struct sockaddr *)&address, sizeof address) == 0) return reached(call, "half a pair was connected");
  return SLUICE_PASS;
}

static void unix_socket_close(void *instance) { (void)instance; }

static const sluice_term codes[] = {{"reached", "There is a way."}};
static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_NETWORK, .code_count = 1, .id = "unix-socket", .version = "1.0.0",
    .summary = "Tries to reach a Unix socket.", .codes = codes, .open = unix_socket_open,
    .process = unix_socket_process, .close = unix_socket_close,
};

const sluice_stage *unix_socket_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &stage;
}
