/* A channel that keeps the home it gets on opening, and tries to use it for each event. */
#define _GNU_SOURCE
#include <sluice/stage.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef ESCAPE_CAPABILITY
#define ESCAPE_CAPABILITY SLUICE_NETWORK
#endif

static const sluice_host *host;
static int home = -1;

static sluice_verdict channel_open(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  (void)instance;
  host = opening->host;
  home = dup(opening->folder);
  return home < 0 ? SLUICE_FAIL : SLUICE_PASS;
}

static sluice_verdict channel_process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  (void)attachment;
  const char *way = NULL;
  char by_number[64];
  snprintf(by_number, sizeof by_number, "/proc/self/fd/%d/sluice.db", home);
  if (openat(home, "sluice.db", O_RDONLY) >= 0) way = "the ledger is open";
  else if (openat(AT_FDCWD, by_number, O_RDWR) >= 0) way = "the ledger is open for writing";
  else if (openat(home, ".", O_RDONLY | O_DIRECTORY) >= 0) way = "the home is listed";
  else if (openat(home, "made-by-channel", O_RDWR | O_CREAT, 0600) >= 0) way = "a file is made";
  else if (openat(home, "../secret", O_RDONLY) >= 0) way = "what lies beside the home is open";
  else if (errno != EACCES) way = strerrorname_np(errno);
  if (!way) return SLUICE_PASS;
  host->explain(call, "achieved", way);
  return SLUICE_REJECT;
}

static void channel_close(void *instance) { (void)instance; }

static const sluice_term codes[] = {{"achieved", "It got in."}};
static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = ESCAPE_CAPABILITY, .flags = SLUICE_CHANNEL, .code_count = 1, .id = "escape-channel",
    .version = "1.0.0", .summary = "Tries to use the home.", .codes = codes, .open = channel_open,
    .process = channel_process, .close = channel_close,
};

const sluice_stage *escape_channel_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &stage;
}
