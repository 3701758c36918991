/* A source without a network. What a link's path says is done:
 *   /bytes/N       N bytes, the same for the same path
 *   /slow/N        the same, 64 KiB each 20 ms, with a checkpoint each time
 *   /gone          fails with `gone`
 *   /denied        pauses with `unauthorized`
 *   /flaky/N       a retry until attempt N, then 1,000 bytes
 *   /inch/N        a MiB, of which N bytes more come with each attempt
 *   /later/N       a retry, in N milliseconds at the earliest
 *   /crash         ends the worker
 *   /large         is refused as too large
 *   /short/N       says that all is there, with one byte less than N
 *   /still         never says anything
 *   /lapse/N       N bytes as /slow; `forbidden` at the half, unless the query has `fresh`. With `rest` only what is
 *                  gone on with comes
 * The bytes follow from the path without its query.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sluice/stage.h>
#include <unistd.h>

#define MOST 64

struct under_way {
  sluice_call *call;
  const sluice_transfer *transfer;
  uint64_t at, length, lapse, inch;
  int held, is_slow;
};

struct well {
  const sluice_host *host;
  struct under_way list[MOST];
  int count;
};

static const char *path(const char *url) {
  const char *host = strstr(url, "://");
  const char *slash = host ? strchr(host + 3, '/') : NULL;
  return slash ? slash : "/";
}

static sluice_verdict well_open(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  struct well *well = calloc(1, sizeof *well);
  if (!well) return SLUICE_FAIL;
  well->host = opening->host;
  *instance = well;
  return SLUICE_PASS;
}

static void finish(struct well *well, int index, sluice_verdict verdict, const char *code, const char *sentence) {
  sluice_call *call = well->list[index].call;
  well->list[index] = well->list[--well->count];
  if (verdict != SLUICE_PASS) well->host->explain(call, code, sentence);
  well->host->settle(call, verdict);
}

static void well_start(void *instance, const sluice_transfer *transfer, sluice_call *call) {
  struct well *well = instance;
  if (well->count == MOST) {
    well->host->explain(call, "busy", "too many at once");
    well->host->settle(call, SLUICE_RETRY);
    return;
  }
  const char *what = path(transfer->url);
  int index = well->count++;
  struct under_way *one = &well->list[index];
  *one = (struct under_way){call, transfer, transfer->bytes, 0, 0, 0, 0, 0};
  if (!strncmp(what, "/bytes/", 7)) one->length = strtoull(what + 7, NULL, 10);
  else if (!strncmp(what, "/slow/", 6)) one->length = strtoull(what + 6, NULL, 10), one->is_slow = 1;
  else if (!strncmp(what, "/short/", 7)) one->length = strtoull(what + 7, NULL, 10) - 1;
  else if (!strncmp(what, "/inch/", 6)) {
    one->inch = strtoull(what + 6, NULL, 10);
    one->length = one->at + one->inch < 1 << 20 ? one->at + one->inch : 1 << 20;
    one->inch = one->length < 1 << 20;
  } else if (!strncmp(what, "/lapse/", 7)) {
    if (strstr(what, "rest") && !transfer->bytes) return finish(well, index, SLUICE_FAIL, "gone", "only the rest is here");
    one->length = strtoull(what + 7, NULL, 10), one->is_slow = 1;
    if (!strstr(what, "fresh")) one->lapse = one->length / 2;
  } else if (!strcmp(what, "/still")) one->held = 1;
  else if (!strncmp(what, "/gone", 5)) finish(well, index, SLUICE_FAIL, "gone", "the well is dry");
  else if (!strcmp(what, "/large")) finish(well, index, SLUICE_REJECT, "too-large-to-fetch", "more than is allowed");
  else if (!strncmp(what, "/denied", 7)) {
    if (transfer->headers && transfer->headers[0] && strstr(transfer->headers[0], "good")) {
      one->length = 1000;
      return;
    }
    well->host->pause(call);
    finish(well, index, SLUICE_RETRY, "unauthorized", "the token is not taken");
  } else if (!strncmp(what, "/flaky/", 7)) {
    if (transfer->attempt < strtoul(what + 7, NULL, 10)) finish(well, index, SLUICE_RETRY, "server-busy", "not now");
    else one->length = 1000;
  } else if (!strncmp(what, "/later/", 7)) {
    well->host->retry_after(call, (int64_t)strtoull(what + 7, NULL, 10));
    finish(well, index, SLUICE_RETRY, "server-busy", "the well is to rest");
  } else if (!strcmp(what, "/crash")) abort();
  else finish(well, index, SLUICE_FAIL, "gone", "there is no such thing");
}

static void tell(struct well *well, struct under_way *one) {
  fdatasync(one->transfer->content);
  sluice_checkpoint checkpoint = {sizeof checkpoint, 0, one->at, one->length, "\"well\"", NULL};
  well->host->checkpoint(one->call, &checkpoint);
}

static void draw(struct well *well, int index) {
  struct under_way *one = &well->list[index];
  static unsigned char water[1 << 16];
  unsigned seed = 7;
  for (const char *c = path(one->transfer->url); *c && *c != '?'; c++) seed = seed * 31 + (unsigned char)*c;
  uint64_t most = one->is_slow ? sizeof water : 1 << 20;
  for (uint64_t drawn = 0; drawn < most && one->at < one->length;) {
    uint64_t count = one->length - one->at < sizeof water ? one->length - one->at : sizeof water;
    for (uint64_t i = 0; i < count; i++) water[i] = (unsigned char)((one->at + i) * 31 + seed + ((one->at + i) >> 8));
    ssize_t written = pwrite(one->transfer->content, water, count, (off_t)one->at);
    if (written <= 0) {
      well->host->pause(one->call);
      return finish(well, index, SLUICE_RETRY, "disk-full", "there is no room for the water");
    }
    one->at += (uint64_t)written;
    drawn += (uint64_t)written;
  }
  if (one->is_slow) tell(well, one);
  if (one->lapse && one->at >= one->lapse)
    return finish(well, index, SLUICE_FAIL, "forbidden", "the well knows this bucket no more");
  if (one->at < one->length) return;
  if (one->inch) {
    tell(well, one);
    return finish(well, index, SLUICE_RETRY, "server-busy", "no more at once");
  }
  if (ftruncate(one->transfer->content, (off_t)one->length) || fdatasync(one->transfer->content)) return;
  finish(well, index, SLUICE_PASS, NULL, NULL);
}

static void well_turn(void *instance, int32_t wake, int64_t milliseconds) {
  struct well *well = instance;
  struct pollfd waiting = {wake, POLLIN, 0};
  int before = well->count, is_slow = 0, works = 0;
  for (int i = well->count - 1; i >= 0; i--) {
    if (well->list[i].held) continue;
    works = 1;
    is_slow |= well->list[i].is_slow;
    draw(well, i);
  }
  if (well->count < before) return;
  poll(&waiting, 1, works ? (is_slow ? 20 : 0) : (int)milliseconds);
}

static int place(struct well *well, sluice_call *call) {
  for (int i = 0; i < well->count; i++)
    if (well->list[i].call == call) return i;
  return -1;
}

static void well_hold(void *instance, sluice_call *call, int32_t is_held) {
  struct well *well = instance;
  int index = place(well, call);
  if (index >= 0) well->list[index].held = is_held;
}

static void well_stop(void *instance, sluice_call *call) {
  struct well *well = instance;
  int index = place(well, call);
  if (index < 0) return;
  tell(well, &well->list[index]);
  finish(well, index, SLUICE_RETRY, "interrupted", "it was stopped");
}

static void well_close(void *instance) { free(instance); }

static const sluice_term codes[] = {
    {"gone", "It is not there."}, {"forbidden", "It is not given."}, {"too-large-to-fetch", "It is too large."}, {"busy", "Too many at once."},
    {"unauthorized", "The token is not taken."}, {"server-busy", "Not now."}, {"disk-full", "No room."}, {"interrupted", "It was stopped."}};

static const sluice_stage stage = {
    .size = sizeof stage, .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR, .capability = SLUICE_NETWORK,
    .flags = SLUICE_SOURCE, .code_count = sizeof codes / sizeof *codes, .id = "well", .version = "1.0.0",
    .summary = "Makes content without a network.", .codes = codes, .open = well_open, .close = well_close,
    .start = well_start, .turn = well_turn, .hold = well_hold, .stop = well_stop};

const sluice_stage *well_stage(uint32_t major);
const sluice_stage *well_stage(uint32_t major) {
  (void)major;
  return &stage;
}
