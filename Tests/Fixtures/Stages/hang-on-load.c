/* A library that never finishes loading. */
#include <unistd.h>

__attribute__((constructor)) static void hang(void) {
  for (;;) sleep(3600);
}
