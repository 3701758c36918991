/* A stage with an option whose minimum is above its maximum, so that it allows no value. */
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

static const sluice_option options[] = {
    {.name = "width", .help = "A width.", .type = SLUICE_INTEGER, .minimum = 1, .maximum = 9},
    {.name = "height", .help = "A height.", .type = SLUICE_INTEGER, .minimum = 10, .maximum = 5},
};

static const sluice_stage description = {
    .size = sizeof(sluice_stage),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_CONTENT,
    .option_count = 2,
    .id = "empty-range",
    .version = "1",
    .summary = "Has an option that allows nothing.",
    .options = options,
    .open = open_stage,
    .process = process,
    .close = close_stage,
};

const sluice_stage *empty_range_stage(uint32_t host_abi_major) {
  (void)host_abi_major;
  return &description;
}
