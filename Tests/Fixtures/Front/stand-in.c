/* Stands in for sluice-httpd: hands the socket to its coordinator to a test, over the socket `test` beside this program (`clamd`, where
 * it stands in for `sluice-httpd clamd`), and gives signs of life until it is ended. So the test says what a server says that was
 * taken over. */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words) {
  if (count != 3 || sluice_die_with(atoi(words[2])) != 0) return 2;
  char place[100];
  snprintf(place, sizeof place, "%.80s", words[0]);
  char *end = strrchr(place, '/');
  if (!end) return 2;
  strcpy(end, strcmp(words[1], "clamd") == 0 ? "/clamd" : "/test");
  int test = sluice_connect(place, 5000), control = SLUICE_FD_CONTROL;
  sluice_status *page = mmap(NULL, SLUICE_STATUS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, SLUICE_FD_STATUS, 0);
  if (test < 0 || page == MAP_FAILED || sluice_send(test, "x", 1, &control, 1, 0) != 1) return 3;
  close(control);
  for (unsigned long beat = 1;; beat++) {
    sluice_status_begin(page, beat, 0);
    usleep(300000);
  }
}
