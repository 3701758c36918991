/* A stage that uses many features of the contract; BROKEN selects one mistake. */
#include <sluice/stage.h>

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WRONG_VERDICT 1
#define WRONG_CODE 2
#define WRONG_MESSAGE 3
#define MISSING_KEY 4
#define EXTRA_KEY 5
#define WRONG_VALUE 6
#define WRONG_MEDIA_TYPE 7
#define WRONG_EVENT 8
#define WRONG_AUDIENCE 9
#define MISSING_EVENT 10
#define WRONG_CONTENT 11
#define MISSING_CONTENT 12
#define OVER_BUDGET 13
#define CRASH 14
#define HANG 15
#define REFUSAL 16
#define LENIENT_OPENING 17

#ifndef BROKEN
#define BROKEN 0
#endif

static const sluice_host *host;

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  host = opening->host;
  *instance = &host;
  const char *mood = opening->value_count > 0 ? opening->values[0].text : "calm";
  if (BROKEN == REFUSAL || (BROKEN != LENIENT_OPENING && strcmp(mood, "angry") == 0)) {
    host->explain(opening->call, "angry", "it does not judge while it is angry");
    return SLUICE_FAIL;
  }
  return SLUICE_PASS;
}

static void spin(int milliseconds) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  char start[4] = "";
  if (pread(attachment->content, start, 3, 0) < 0) return SLUICE_RETRY;
  if (BROKEN == OVER_BUDGET) spin(1300);
  if (BROKEN == CRASH) *(volatile int *)0 = 1;
  if (BROKEN == HANG) for (;;) spin(1000);
  if (strcmp(start, "bad") == 0) {
    host->explain(
        call, BROKEN == WRONG_CODE ? "angry" : "bad", BROKEN == WRONG_MESSAGE ? "because" : "it says so itself");
    return BROKEN == WRONG_VERDICT ? SLUICE_FAIL : SLUICE_REJECT;
  }
  host->annotate_integer(call, "judge.bytes", (int64_t)attachment->content_size + (BROKEN == WRONG_VALUE));
  if (BROKEN != MISSING_KEY) host->annotate_text(call, "judge.start", start);
  if (BROKEN == EXTRA_KEY) host->annotate_boolean(call, "judge.extra", 1);
  host->set_media_type(call, BROKEN == WRONG_MEDIA_TYPE ? "text/plain" : "text/judged");
  if (BROKEN != MISSING_EVENT)
    host->emit(
        call, BROKEN == WRONG_EVENT ? "judge.begun" : "judge.done", "events",
        BROKEN == WRONG_AUDIENCE ? SLUICE_TO_EVERYONE : SLUICE_TO_SENDER);
  if (BROKEN != MISSING_CONTENT) {
    const char *text = BROKEN == WRONG_CONTENT ? "Judged.\n" : "judged\n";
    if (write(host->produce(call), text, strlen(text)) < 0) return SLUICE_RETRY;
  }
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_option options[] = {
    {.size = sizeof(sluice_option), .type = SLUICE_TEXT, .shapes = SLUICE_ONE, .name = "mood", .fallback = "calm",
     .help = "How it is today."},
    {.size = sizeof(sluice_option), .type = SLUICE_CHANNEL_NAME, .shapes = SLUICE_ONE, .name = "channel",
     .fallback = "events", .help = "Where it tells of its judgements."},
};

static const sluice_term keys[] = {
    {"judge.bytes", "How long it is."}, {"judge.start", "How it begins."}, {"judge.extra", "More."}};

static const sluice_term codes[] = {{"bad", "It begins with this word."}, {"angry", "Its mood."}};

static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .flags = SLUICE_PRODUCES, .option_count = 2, .key_count = 3, .code_count = 2, .id = "judge", .version = "1.0.0",
    .summary = "Judges by the first word.", .options = options, .keys = keys, .codes = codes, .open = open_stage,
    .process = process, .close = close_stage};

const sluice_stage *judge_stage(uint32_t host_major);
const sluice_stage *judge_stage(uint32_t host_major) {
  (void)host_major;
  return &stage;
}
