/* Asks a service on the network about each content's hash: a line there, a line back, `ok` or a reason. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <sluice/stage.h>

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "host", .fallback = "127.0.0.1",
     .help = "The service's name or address."},
    {.size = sizeof(sluice_option), .type = SLUICE_INTEGER, .shapes = SLUICE_ONE, .name = "port", .fallback = "7007",
     .help = "Its TCP port.", .minimum = 1, .maximum = 65535},
    {.size = sizeof(sluice_option), .type = SLUICE_DURATION, .shapes = SLUICE_ONE, .name = "timeout", .fallback = "5s",
     .help = "How long an answer may take.", .minimum = 10, .maximum = 60000},
};
static const sluice_term keys[] = {{"greeting.answer", "What the service said."}};
static const sluice_term codes[] = {
    {"refused", "The service says no."},
    {"unavailable", "The service does not answer."},
    {"no-such-host", "The service's name has no address."},
};

typedef struct state {
  const sluice_host *host; /* lives as long as the instance */
  struct addrinfo *address;
  struct timeval limit;
} state;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  const char *host = "127.0.0.1", *port = "7007";
  int64_t timeout = 5000;
  for (uint32_t i = 0; i < opening->value_count; i++) {
    const sluice_value *value = &opening->values[i];
    if (strcmp(value->name, "host") == 0) host = value->text;
    if (strcmp(value->name, "port") == 0) port = value->text;
    if (strcmp(value->name, "timeout") == 0) timeout = value->integer;
  }
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *address = NULL;
  int code = getaddrinfo(host, port, &hints, &address);
  if (code != 0) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s: %s", host, gai_strerror(code));
    opening->host->explain(opening->call, "no-such-host", sentence);
    return SLUICE_FAIL;
  }
  state *made = malloc(sizeof *made);
  if (!made) {
    freeaddrinfo(address);
    return SLUICE_FAIL;
  }
  *made = (state){opening->host, address, {.tv_sec = timeout / 1000, .tv_usec = timeout % 1000 * 1000}};
  *instance = made;
  return SLUICE_PASS;
}

/* The first line of the answer, its printable characters only: the network is hostile. 0, or -1 and errno. */
static int ask(const state *self, const char *question, char *answer, size_t room) {
  int connection = socket(self->address->ai_family, SOCK_STREAM, 0);
  if (connection < 0) return -1;
  size_t length = strlen(question), count = 0;
  int result = -1;
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &self->limit, sizeof self->limit);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &self->limit, sizeof self->limit);
  if (connect(connection, self->address->ai_addr, self->address->ai_addrlen) == 0 &&
      send(connection, question, length, MSG_NOSIGNAL) == (ssize_t)length) {
    char letter;
    ssize_t got = 0;
    while (count + 1 < room && (got = recv(connection, &letter, 1, 0)) == 1 && letter != '\n')
      if (letter >= 0x20 && letter < 0x7F) answer[count++] = letter;
    if (got >= 0) result = 0;
  }
  answer[count] = 0;
  int failure = errno;
  close(connection);
  errno = failure;
  return result;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  const state *self = instance;
  char question[80], answer[200], sentence[256];
  snprintf(question, sizeof question, "%s\n", attachment->sha256 ? attachment->sha256 : "");
  if (ask(self, question, answer, sizeof answer) != 0) {
    snprintf(sentence, sizeof sentence, "asking the service: %s", strerror(errno));
    self->host->explain(call, "unavailable", sentence);
    return SLUICE_RETRY;
  }
  if (!*answer) { /* an empty answer is not a consent */
    self->host->explain(call, "unavailable", "the service closed the connection without an answer");
    return SLUICE_RETRY;
  }
  self->host->annotate_text(call, "greeting.answer", answer);
  if (strcmp(answer, "ok") == 0) return SLUICE_PASS;
  snprintf(sentence, sizeof sentence, "the service says: %s", answer);
  self->host->explain(call, "refused", sentence);
  return SLUICE_REJECT;
}

static void close_stage(void *instance) {
  state *self = instance;
  freeaddrinfo(self->address);
  free(self);
}

static const sluice_stage stage = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_NETWORK,
    .id = "greeting",
    .version = "0.1.0",
    .summary = "Asks a service about each content's hash.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .codes = codes,
    .code_count = sizeof codes / sizeof *codes,
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

__attribute__((visibility("default"))) const sluice_stage *greeting_stage(uint32_t host_abi_major) {
  (void)host_abi_major; /* the host compares with `abi_major` */
  return &stage;
}
