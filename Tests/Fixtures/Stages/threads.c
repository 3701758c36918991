/* A stage with capability network that starts as many threads as the content says. */
#define _GNU_SOURCE
#include <sluice/stage.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *rest(void *argument) {
  nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
  return argument;
}

static sluice_verdict open_stage(const sluice_stage *stage, const sluice_opening *opening, void **instance) {
  (void)stage;
  (void)opening;
  *instance = (void *)open_stage;
  return SLUICE_PASS;
}

static sluice_verdict process(void *instance, const sluice_attachment *attachment, sluice_call *call) {
  (void)instance;
  (void)call;
  char text[16] = "";
  if (pread(attachment->content, text, sizeof text - 1, 0) < 0) return SLUICE_RETRY;
  int wanted = atoi(text), made = 0;
  static pthread_t threads[1000];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  while (made < wanted && made < 1000 && pthread_create(&threads[made], &small, rest, NULL) == 0) made++;
  for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
  return SLUICE_PASS;
}

static void close_stage(void *instance) { (void)instance; }

static const sluice_stage stage = {
    .size = sizeof(sluice_stage), .abi_major = SLUICE_ABI_MAJOR, .abi_minor = SLUICE_ABI_MINOR,
    .capability = SLUICE_NETWORK, .id = "threads", .version = "1.0.0", .summary = "Starts threads.",
    .open = open_stage, .process = process, .close = close_stage};

const sluice_stage *threads_stage(uint32_t host_major);
const sluice_stage *threads_stage(uint32_t host_major) {
  (void)host_major;
  return &stage;
}
