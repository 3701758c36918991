/* A library that crashes before anybody asks what it is. */
#include <stdio.h>

__attribute__((constructor)) static void crash(void) {
  fputs("about to go wrong\n", stderr);
  *(volatile int *)16 = 1;
}
