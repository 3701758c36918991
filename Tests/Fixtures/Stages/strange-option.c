/* A stage with an option of a type that no minor of the contract has yet. */
#include <sluice/stage.h>

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)opening;
  *instance = (void *)stage;
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance, (void)attachment, (void)call;
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_option options[] = {{.name = "colour", .help = "A colour.", .type = 99}};

static const sluice_stage description = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = 99,
    .capability = SLUICE_CONTENT,
    .option_count = 1,
    .id = "strange-option",
    .version = "1",
    .summary = "Has an option of an unknown type.",
    .options = options,
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

const sluice_stage *strange_option_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &description;
}
