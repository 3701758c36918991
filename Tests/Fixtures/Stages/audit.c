/* A stage at the end that rejects what the other stages let through. AUDIT_TELLS: it emits events, too. */
#include <sluice/stage.h>

#include <string.h>

static const sluice_host *host;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  *instance = &host;
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  if (attachment->outcome != SLUICE_COMPLETED) return SLUICE_PASS;
#ifdef AUDIT_TELLS
  host->emit(call, "audit.done", "events", SLUICE_TO_PARTICIPANTS);
#endif
  host->explain(call, "audited", "the audit says no");
  return SLUICE_REJECT;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_CHANNEL_NAME, .shapes = SLUICE_ONE, .name = "channel",
     .help = "Where it tells."},
};
static const sluice_term codes[] = {{"audited", "The audit says no."}};

static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .flags = SLUICE_AT_END, .option_count = 1, .code_count = 1, .id = "audit", .version = "1.0.0",
    .summary = "Rejects what is completed.", .options = options, .codes = codes, .open = open_stage,
    .process = process, .close = close_stage};

const sluice_stage *audit_stage(uint32_t host_major);
const sluice_stage *audit_stage(uint32_t host_major) {
  (void)host_major;
  return &stage;
}
