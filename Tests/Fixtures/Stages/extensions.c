/* A stage that asks for extensions by name, and records what it gets. */
#include <sluice/stage.h>

#include <errno.h>

static const sluice_host *host;
static int64_t known, unknown, refused;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  *instance = &host;
  const sluice_door *door = host->extension(opening->call, SLUICE_EXTENSION_DOOR);
  known = door != NULL && door->size >= sizeof *door;
  unknown = host->extension(opening->call, "no-such-extension") != NULL || host->extension(opening->call, NULL) != NULL;
  /* It declares no capability to connect. */
  refused = known && door->open(opening->call, "/socket") == -1 && errno == EPERM;
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance, (void)attachment;
  host->annotate_integer(call, "known", known);
  host->annotate_integer(call, "unknown", unknown);
  host->annotate_integer(call, "refused", refused);
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_term keys[] = {{"known", "Whether there is a door."},
                                   {"unknown", "Whether there is what no host has."},
                                   {"refused", "Whether the door was refused."}};

static const sluice_stage description = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT,
    .key_count = 3,
    .id = "extensions",
    .version = "1",
    .summary = "Asks for extensions.",
    .keys = keys,
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

const sluice_stage *extensions_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &description;
}
