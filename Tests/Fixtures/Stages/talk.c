/* A stage that logs LINES lines of each level for each attachment, with a control character in each; with CHANNEL a channel that
 * does so for each delivery. */
#include <sluice/stage.h>

#include <stdio.h>

#ifndef LINES
#define LINES 1
#endif

static const sluice_host *host;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  *instance = &host;
  host->log(opening->call, SLUICE_LOG_WARNING, "said while it was opened");
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  char line[200];
  for (int number = 1; number <= LINES; number++) {
    for (uint32_t level = SLUICE_LOG_DEBUG; level <= SLUICE_LOG_ERROR; level++) {
      snprintf(line, sizeof line, "line %d of level %u on %s\a", number, level, attachment->file_name);
      host->log(call, level, line);
    }
  }
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_stage description = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
#ifdef CHANNEL
    .capability = SLUICE_NETWORK,
    .flags = SLUICE_CHANNEL,
#else
    .capability = SLUICE_CONTENT,
#endif
    .id = "talk",
    .version = "1",
    .summary = "Logs lines of each level.",
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

const sluice_stage *talk_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &description;
}
