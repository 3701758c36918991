/* A library that crashes before its description is asked for. */
#include <stdio.h>

__attribute__((constructor)) static void crash(void) {
  fputs("about to go wrong\n", stderr);
  *(volatile int *)16 = 1;
}
